"""Sentences with slots for a head and a tail, by which a relation is asked about."""

from __future__ import annotations

import re

from kgtrec.errors import KgtrecError

SLOTS = ("{head}", "{tail}")
_SLOT = re.compile(r"(\{head\}|\{tail\})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")


def template_parts(template: str) -> tuple[str, ...]:
    """The template split at its slots, which are parts too; the joined parts give the template again.

    Only the two slots have a meaning. A template is never passed to ``str.format``, which would evaluate
    ``{head.__class__}``, and the names put into the slots are not parsed again, so that they may contain braces.

    Raises
    ------
    KgtrecError
        If a slot is missing, anything else is in braces, or the template is not one line of text.

    Examples
    --------
    >>> template_parts("Is {head} in {tail}?")
    ('Is ', '{head}', ' in ', '{tail}', '?')
    """
    parts = tuple(part for part in _SLOT.split(template) if part)
    if missing := [slot for slot in SLOTS if slot not in parts]:
        raise KgtrecError(
            f"expected a template with {{head}} and {{tail}}, found no {' and no '.join(missing)} in {template!r}"
        )
    for part in parts:
        if part not in SLOTS and (braces := re.search(r"\{[^{}]*\}?|\}", part)):
            raise KgtrecError(
                f"expected nothing but {{head}} and {{tail}} in braces, found {braces[0]!r} in {template!r}"
            )
    if control := _CONTROL.search(template):
        raise KgtrecError(f"expected a template of one line of text, found {control[0]!r} in {template!r}")
    return parts


def check_template(template: str) -> None:
    """Refuse a template that cannot be filled in.

    Raises
    ------
    KgtrecError
        As :func:`template_parts`.

    Examples
    --------
    >>> check_template("Is {head} in {tail}?")
    >>> check_template("Is {head.__class__} in {tail}?")
    Traceback (most recent call last):
    ...
    kgtrec.errors.KgtrecError: expected a template with {head} and {tail}, found no {head} in 'Is {head.__class__} in {tail}?'
    """  # noqa: E501
    template_parts(template)
