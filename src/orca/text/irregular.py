"""English words whose forms a stemmer cannot join: irregular verbs and plurals, each mapped to its base form."""

from __future__ import annotations

_FORMS = """
be being been am is are was were
bear bore borne
beat beaten
become became
begin began begun
bend bent
bite bit bitten
blow blew blown
break broke broken
bring brought
build built
buy bought
catch caught
choose chose chosen
come came
deal dealt
dig dug
do did done does
draw drew drawn
drink drank drunk
drive drove driven
eat ate eaten
fall fell fallen
feed fed
feel felt
fight fought
find found
fly flew flown
forget forgot forgotten
forgive forgave forgiven
freeze froze frozen
get got gotten
give gave given
go went gone goes
grow grew grown
hang hung
have had has
hear heard
hide hid hidden
hold held
keep kept
know knew known
lead led
leave left
lend lent
lose lost
make made
mean meant
meet met
pay paid
ride rode ridden
ring rang rung
rise rose risen
run ran
say said
see saw seen
seek sought
sell sold
send sent
shake shook shaken
shoot shot
show shown
sing sang sung
sink sank sunk
sit sat
sleep slept
speak spoke spoken
spend spent
stand stood
steal stole stolen
stick stuck
swear swore sworn
swim swam swum
take took taken
teach taught
tear tore torn
tell told
think thought
throw threw thrown
understand understood
wake woke woken
wear wore worn
win won
write wrote written
child children
foot feet
man men
mouse mice
person people
tooth teeth
wife wives
woman women
"""

BASE_FORMS: dict[str, str] = {
    form: base for base, *forms in (line.split() for line in _FORMS.split("\n") if line) for form in forms
}
"""From an irregular form to the word that stands for all of its forms."""
