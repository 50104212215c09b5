"""Made-up lines of code around made-up names, as searches and files show them."""

import names


def code_line(rng, symbol):
    """One line that uses `symbol`."""
    other, value = names.snake(rng, 1, 2), names.constant(rng)
    return rng.choice(
        [
            f"    {other} = {symbol}({value})",
            f"    return {symbol}({other})",
            f"from {names.word(rng)}.{names.word(rng)} import {symbol}",
            f"        if {symbol} is None:",
            f"    self.{other} = {symbol}",
            f"# {symbol} is kept for {other}",
            f"    assert {symbol}({value}) == {names.constant(rng)}",
            f"{symbol} = {value}",
            f"        raise ValueError({symbol}, {other})",
            f"    for {other} in {symbol}({value}):",
        ]
    )


def function_body(rng, symbol, keyword, count):
    """The lines of a definition: its head and `count` lines."""
    arguments = names.distinct(rng, lambda r: names.snake(r, 1, 2).strip("_"), rng.randint(1, 3))
    if keyword == "class":
        head = f"class {symbol}({names.camel(rng)}):"
        rows = [f"    {names.snake(rng)} = {names.constant(rng)}" for _ in range(count)]
        return [head, *rows]
    rows = [f"def {symbol}({', '.join(arguments)}):"]
    known = list(arguments)
    for _ in range(count):
        target = names.snake(rng, 1, 2).strip("_")
        used = rng.choice(known)
        rows.append(
            rng.choice(
                [
                    f"    {target} = {used}.{names.snake(rng)}({names.constant(rng)})",
                    f"    {target} = {names.snake(rng, 2, 2)}({used})",
                    f"    if {used} == {names.constant(rng)}:\n        return {rng.choice(known)}",
                    f"    {target} = {used} + {rng.randint(1, 99)}",
                    f"    {used}.{names.snake(rng)}()",
                ]
            )
        )
        if rows[-1].startswith(f"    {target} = "):
            known.append(target)
    rows.append(f"    return {rng.choice(known)}")
    return rows
