"""Schemas of models, as references and the components that they point to."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue, models_json_schema
from pydantic_core import core_schema

PLACE = "#/components/schemas/"
Wanted = tuple[type[BaseModel], JsonSchemaMode]


_REFERENCE = re.compile(rf'"{PLACE}([^"]+)"')


_MODE = re.compile(r"-(Input|Output)$")


RULES = re.compile(r" \((?:[^()]*\b(?:K-\d+|S\d\b|behaviour)[^()]*|§[\d.]+)\)")
"""The rule that a docstring follows: for those who read the code, not for those who read the description."""


class _Wire(GenerateJsonSchema):
    """Bodies are closed; answers may grow, and always hold what they do not leave out on purpose."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def field_is_required(
        self,
        field: core_schema.ModelField | core_schema.DataclassField | core_schema.TypedDictField,
        total: bool,
    ) -> bool:
        if self.mode == "serialization":
            return field.get("serialization_exclude_if") is None
        return super().field_is_required(field, total)

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        if self.mode == "serialization":
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        result = super().model_schema(schema)
        if self.mode == "serialization" and result.get("additionalProperties") is False:
            del result["additionalProperties"]
        return result


def schemas(wanted: Iterable[Wanted]) -> tuple[dict[Wanted, JsonSchemaValue], dict[str, Any]]:
    """A reference for each model, and the components they point to, by the names of their classes."""
    wanted = list(dict.fromkeys(wanted))
    references, document = models_json_schema(
        wanted, by_alias=True, ref_template=PLACE + "{model}", schema_generator=_Wire
    )
    meant = [references[key] for key in wanted]
    components = used(document["$defs"], by=meant)
    names = _plain(components)
    components = {names[name]: schema for name, schema in _renamed(components, names).items()}
    return dict(zip(wanted, _renamed(meant, names), strict=True)), without_rules(components)


def without_rules(value: Any) -> Any:
    """The same without the codes of rules in its descriptions."""
    if isinstance(value, dict):
        return {
            key: RULES.sub("", part) if key == "description" and isinstance(part, str) else without_rules(part)
            for key, part in value.items()
        }
    return [without_rules(part) for part in value] if isinstance(value, list) else value


def used(components: dict[str, Any], by: object) -> dict[str, Any]:
    """Those components to which something leads from `by`, by name."""
    result: dict[str, Any] = {}
    waiting = set(_REFERENCE.findall(json.dumps(by)))
    while waiting:
        name = waiting.pop()
        if name not in result:
            result[name] = components[name]
            waiting |= set(_REFERENCE.findall(json.dumps(components[name])))
    return dict(sorted(result.items()))


def _plain(names: Iterable[str]) -> dict[str, str]:
    """Each name without the mode that pydantic adds, where only one of its modes is left."""
    plain = {name: _MODE.sub("", name) for name in names}
    counted = Counter(plain.values())
    return {name: short if counted[short] == 1 else name for name, short in plain.items()}


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    return json.loads(_REFERENCE.sub(lambda place: f'"{PLACE}{names[place[1]]}"', json.dumps(value)))
