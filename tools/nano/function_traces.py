"""Procedural conversations about functions with typed arguments, parallel calls, and questions that need no call."""

import names


class Parameter:
    """A made-up parameter: name, JSON type, and values of it."""

    def __init__(self, rng):
        self.name = names.snake(rng, 1, 2).strip("_")
        self.kind = rng.choice(["string"] * 4 + ["integer"] * 3 + ["number", "boolean", "array", "object"])

    def schema(self, rng):
        schema = {"type": self.kind, "description": f"The {self.name.replace('_', ' ')}"}
        if self.kind == "array":
            schema["items"] = {"type": "string"}
        return schema

    def value(self, rng):
        kind = self.kind
        if kind == "string":
            return rng.choice([names.word, names.path, names.camel, names.snake, _title])(rng)
        if kind == "integer":
            return rng.randint(0, 5000)
        if kind == "number":
            return rng.randint(0, 999) + rng.randint(1, 99) / 100
        if kind == "boolean":
            return rng.random() < 0.5
        if kind == "array":
            return [names.word(rng) for _ in range(rng.randint(1, 3))]
        return {names.word(rng): rng.randint(0, 99) for _ in range(rng.randint(1, 2))}


def _title(rng):
    return f"{names.word(rng).capitalize()} {names.word(rng).capitalize()}"


class Function:
    def __init__(self, rng, most):
        self.name = names.snake(rng, 2, 2).strip("_")
        self.parameters = []
        for _ in range(rng.randint(1, most)):
            parameter = Parameter(rng)
            if all(parameter.name != other.name for other in self.parameters):
                self.parameters.append(parameter)

    def tool(self, rng):
        schema = {
            "type": "object",
            "properties": {p.name: p.schema(rng) for p in self.parameters},
            "required": [p.name for p in self.parameters],
        }
        description = f"{self.name.replace('_', ' ').capitalize()}."
        return {"type": "function", "function": {"name": self.name, "description": description, "parameters": schema}}

    def call(self, rng):
        return {"name": self.name, "arguments": {p.name: p.value(rng) for p in self.parameters}}


def _text(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ", ".join(value)
    if isinstance(value, dict):
        return ", ".join(f"{key} = {number}" for key, number in value.items())
    return str(value)


def _request(rng, call):
    words = call["name"].replace("_", " ")
    listed = [f"{key.replace('_', ' ')} {_text(value)}" for key, value in call["arguments"].items()]
    joined = listed[0] if len(listed) == 1 else ", ".join(listed[:-1]) + " and " + listed[-1]
    return rng.choice([f"{words} with {joined}", f"{words}: {joined}", f"{words} for {joined}"])


def call_functions(rng, size):
    """The function that the request names, among others, with the values it gives; sometimes twice or with another."""
    functions = [Function(rng, 2 if size == 0 else 4) for _ in range(rng.randint(1, (1, 2, 5)[size]))]
    amount = 1 if rng.random() < 0.65 else 2
    chosen = [rng.choice(functions) for _ in range(amount)]
    calls = [function.call(rng) for function in chosen]
    opening = rng.choice(["Please ", "I want you to ", "Now ", "", "Can you "])
    text = opening + " and then ".join(_request(rng, call) for call in calls) + "."
    messages = [{"role": "user", "content": text}, {"role": "assistant", "tool_calls": calls}]
    for call in calls:
        messages.append({"role": "tool", "content": f"{call['name']}: {names.word(rng)} {rng.randint(1, 999)}"})
    results = " ".join(message["content"].split(": ")[1] for message in messages[2:])
    messages.append({"role": "assistant", "content": f"The result: {results}"})
    return messages, [function.tool(rng) for function in functions]


def no_call(rng, size):
    """Nothing among the tools fits: an answer in words, which names what was asked."""
    functions = [Function(rng, 2) for _ in range(rng.randint(1, (1, 2, 4)[size]))]
    thing = f"{names.word(rng)} {names.word(rng)}"
    text = rng.choice([f"What is the {thing}?", f"Tell me about the {thing}.", f"Can you {thing} for me?"])
    answer = f"None of the functions can tell about the {thing}."
    messages = [{"role": "user", "content": text}, {"role": "assistant", "content": answer}]
    return messages, [function.tool(rng) for function in functions]


def recall(rng, size):
    """Facts and questions about them, without tools."""
    count = rng.randint(2, (5, 10, 40)[size])
    keys = names.distinct(rng, lambda r: names.snake(r, 1, 2).strip("_"), count)
    values = names.distinct(rng, rng.choice([names.path, names.symbol, lambda r: str(r.randint(10, 99999))]), count)
    form = rng.choice(["{} = {}", "{}: {}", "{} is {}", "- {} -> {}"])
    facts = "\n".join(form.format(key, value) for key, value in zip(keys, values))
    messages = []
    for i in range(rng.randint(1, min(count, (3, 5, 10)[size]))):
        j = rng.randrange(count)
        asked, wanted = (keys[j], values[j]) if rng.random() < 0.7 else (values[j], keys[j])
        question = rng.choice([f"What belongs to {asked}?", f"And {asked}?", f"Give the other side of {asked}."])
        messages.append({"role": "user", "content": question if i else f"{facts}\n\n{question}"})
        messages.append({"role": "assistant", "content": wanted})
    return messages, None


def repeat(rng, size):
    """Say it again: nothing but copying, which is learned from this first."""
    makes = [names.word, names.snake, names.path, names.symbol, names.constant]
    make = rng.choice(makes)
    parts = [(make if rng.random() < 0.7 else rng.choice(makes))(rng) for _ in range(rng.randint(3, (12, 20, 60)[size]))]
    text = rng.choice([" ", ", ", "\n"]).join(parts)
    request = rng.choice([f"Repeat this:\n{text}", f"Say again: {text}", f"{text}\n\nOnce more, please."])
    return [{"role": "user", "content": request}, {"role": "assistant", "content": text}], None


def trace(rng, size):
    if size:
        family = rng.choice([call_functions, call_functions, call_functions, recall, recall, no_call, no_call, repeat])
    else:  # without tools, whose schemas are long
        family = rng.choice([recall, repeat, repeat])
    return family(rng, size)
