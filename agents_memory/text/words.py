"""What the tokeniser knows about English: question stop words and irregular verbs."""

from __future__ import annotations

from typing import Final

_STOP: Final = """
    a an the this that these those there here
    i me my mine myself we us our ours you your yours he him his she her hers it its they them their theirs
    who whom whose which what when where why how
    am is are was were be been being do does did doing done have has had having
    can could may might must shall should will would
    and or but if then than so as at by for from in into of off on onto out over to up with about
    any some such just also too very please tell
"""
STOP_WORDS: Final = frozenset(_STOP.split())
"""Dropped from questions only: what is written keeps every word."""

_FORMS: Final = """
    arise arose arisen, awake awoke awoken, bear bore borne, beat beaten, become became, begin began begun,
    bend bent, bet, bind bound, bite bit bitten, bleed bled, blow blew blown, break broke broken,
    breed bred, bring brought, build built, burn burnt, buy bought, catch caught, choose chose chosen,
    come came, creep crept, deal dealt, dig dug, draw drew drawn, dream dreamt, drink drank drunk,
    drive drove driven, eat ate eaten, fall fell fallen, feed fed, feel felt, fight fought, find found, flee fled,
    fly flew flown, forbid forbade forbidden, forget forgot forgotten, forgive forgave forgiven, freeze froze frozen,
    get got gotten, give gave given, go went gone, grow grew grown, hang hung, hear heard, hide hid hidden,
    hold held, keep kept, kneel knelt, know knew known, lay laid, lead led, lean leant, learn learnt, leave left,
    lend lent, light lit, lose lost, make made, mean meant, meet met, mistake mistook mistaken,
    pay paid, prove proven, ride rode ridden, ring rang rung, rise rose risen, run ran, say said, see saw seen,
    seek sought, sell sold, send sent, sew sewn, shake shook shaken, shine shone, shoot shot, show shown,
    shrink shrank shrunk, sing sang sung, sink sank sunk, sit sat, sleep slept, slide slid, smell smelt,
    speak spoke spoken, spell spelt, spend spent, spill spilt, spin spun, stand stood,
    steal stole stolen, stick stuck, sting stung,
    strike struck, swear swore sworn, sweep swept, swim swam swum, swing swung, take took taken, teach taught,
    tear tore torn, tell told, think thought, throw threw thrown, understand understood, undertake undertook undertaken,
    wake woke woken, wear wore worn, weave wove woven, weep wept, win won, withdraw withdrew withdrawn,
    write wrote written,
    child children, foot feet, man men, mouse mice, person people, tooth teeth, woman women
"""

IRREGULAR: Final[dict[str, str]] = {
    form: base for entry in _FORMS.split(",") for base, *forms in [entry.split()] for form in forms
}
"""An irregular form to its base form, which is then stemmed like any word."""
