"""bfcl-eval's own checker, converters and tools, loaded without what they do not need: clients, parsers, locks."""

import json
import os
import sys
import tempfile
import types

CALLS_SUBSETS = (
    "simple_python",
    "simple_java",
    "simple_javascript",
    "multiple",
    "parallel",
    "parallel_multiple",
    "live_simple",
    "live_multiple",
    "live_parallel",
    "live_parallel_multiple",
)
OTHER_SUBSETS = ("irrelevance", "live_irrelevance")

# Packages that bfcl-eval imports on the way; nothing of them is called here.
UNUSED_NAMES = {
    "filelock": ["FileLock"],
    "tenacity": ["retry", "retry_if_exception_message", "retry_if_exception_type", "wait_random_exponential"],
    "bfcl_eval.model_handler.parser.java_parser": ["parse_java_function_call"],
    "bfcl_eval.model_handler.parser.js_parser": ["parse_javascript_function_call"],
}


class _Models(dict):
    """Every model has functions whose names may have no dots, as those of OpenAI's API."""

    def __missing__(self, name):
        return types.SimpleNamespace(underscore_to_dot=True)


def _load(packages, project):
    for name, attributes in UNUSED_NAMES.items():
        module = types.ModuleType(name)
        for attribute in attributes:
            setattr(module, attribute, None)
        sys.modules[name] = module
    models = types.ModuleType("bfcl_eval.constants.model_config")
    models.MODEL_CONFIG_MAPPING = _Models()
    sys.modules[models.__name__] = models
    sys.path.insert(0, packages)
    os.environ["BFCL_PROJECT_ROOT"] = project  # it makes folders for results


class Reference:
    """packages: the folder that bfcl_eval lies in."""

    def __init__(self, packages):
        if not os.path.isdir(os.path.join(packages, "bfcl_eval")):
            sys.exit(f"{packages} has no folder bfcl_eval: expected what pip install --target made")
        self._project = tempfile.TemporaryDirectory(prefix="bfcl-")
        _load(packages, self._project.name)
        from bfcl_eval.constants.enums import Language, ModelStyle
        from bfcl_eval.constants.type_mappings import GORILLA_TO_OPENAPI
        from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker
        from bfcl_eval.eval_checker.ast_eval.type_convertor.java_type_converter import java_type_converter
        from bfcl_eval.eval_checker.ast_eval.type_convertor.js_type_converter import js_type_converter
        from bfcl_eval.model_handler.utils import convert_to_tool

        self._check = ast_checker
        self._languages = {language.value: language for language in Language}
        self._convert = lambda functions: convert_to_tool(functions, GORILLA_TO_OPENAPI, ModelStyle.OPENAI_COMPLETIONS)
        self._convert_value = {"java": java_type_converter, "javascript": js_type_converter}
        self.data = os.path.join(packages, "bfcl_eval", "data")

    def tools(self, functions):
        return self._convert(functions)

    def value(self, language, kind, elements, text):
        """The value of an expression. Raises whatever the converters do."""
        return self._convert_value[language](text, kind, elements or None)

    def score(self, question, calls):
        """Whether the calls, [name, text of the arguments] each, are right, and why not. A fault of the checker is
        wrong; arguments that are no JSON object are what its callers sort out before."""
        read = []
        for name, arguments in calls:
            try:
                value = json.loads(arguments) if arguments.strip() else {}
            except ValueError:
                return False, "arguments are no JSON"
            if not isinstance(value, dict):
                return False, "arguments are no object"
            read.append({name: value})
        try:
            result = self._check(
                question["functions"],
                read,
                question["answers"],
                self._languages[question["language"]],
                question["category"],
                "any",
            )
        except Exception as fault:  # the checker takes the data for sound
            return False, f"raised {type(fault).__name__}: {fault}"
        return result["valid"], str(result["error"])


def read_lines(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def language_of(subset):
    return {"simple_java": "java", "simple_javascript": "javascript"}.get(subset, "python")


def read_questions(data, subset):
    """The questions of a subset with their answers."""
    answers = {
        row["id"]: row["ground_truth"]
        for row in read_lines(os.path.join(data, "possible_answer", f"BFCL_v4_{subset}.json"))
    }
    for row in read_lines(os.path.join(data, f"BFCL_v4_{subset}.json")):
        yield {
            "id": row["id"],
            "category": subset,
            "language": language_of(subset),
            "functions": row["function"],
            "answers": answers[row["id"]],
        }
