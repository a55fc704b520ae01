"""Sentences with places for a head and a tail: how a relation is asked about."""

from __future__ import annotations

import re

from kgtrec.errors import KgtrecError

SLOTS = ("{head}", "{tail}")
_SLOT = re.compile(r"(\{head\}|\{tail\})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")


def template_parts(template: str) -> tuple[str, ...]:
    """The template cut at its slots, which are parts of their own; the parts joined give the template again.

    Only the two slots mean anything. A template is never given to ``str.format``, where ``{head.__class__}`` would be
    carried out, and the names that come into the slots are not looked at again, so that they may hold braces.

    Raises
    ------
    KgtrecError
        If a slot is missing, anything else stands in braces, or the template is not one line of text.

    Examples
    --------
    >>> template_parts("Is {head} in {tail}?")
    ('Is ', '{head}', ' in ', '{tail}', '?')
    """
    parts = tuple(part for part in _SLOT.split(template) if part)
    if missing := [slot for slot in SLOTS if slot not in parts]:
        raise KgtrecError(
            f"expected a template with {{head}} and {{tail}}, found none of {' and '.join(missing)} in {template!r}"
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
    """Nothing, if ``template`` can be filled in.

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
    kgtrec.errors.KgtrecError: expected a template with {head} and {tail}, found none of {head} in 'Is {head.__class__} in {tail}?'
    """  # noqa: E501
    template_parts(template)
