"""Random names: words, identifiers, paths. Fresh in every trace, so that only copying them from the context helps."""

WORDS = """account action adapter agent alias amount anchor archive array asset atlas audit axis backup badge balance banner
base basket batch beacon binary block board bonus border bottle branch bridge broker bucket buffer bundle button cable
cache canvas card cargo carrier cell chain channel chapter chart check city claim clean client clock cloud cluster code
color column command commit common config contact content context control copy core corner count course cover credit
cursor curve cycle data date decode default delay delta depth desk detail device dialog digest disk display doctor
domain draft driver edge editor element engine entry error event exact export extra factor failed feature feed field
figure file filter final first fixed flag flat floor flow fold font forest format forward frame front garden gate graph
grid group guard guide handle harbor hash head height helper hidden history hook host image import index inner input
insert island item join journal kernel key label lamp lane last layer leaf left length letter level library light limit
line link list load local lock logic loop lower machine main manager map margin market mask master match matrix maximum
member memory merge message meta meter method middle minimum mirror mixed mobile mode model module monitor motor move
name native nested network next node normal note number object offset option order origin outer output owner packet
page pair palette panel parent parse partial patch path pattern paper phase phone pixel place plan planet plate player
plugin point policy pool port position post prefix price print process product profile project proxy pulse query queue
quick quote radius random range rate ratio raw reader ready record region remote render reply report request reset
result return right ring river road role root rotate round route rule runner sample scale schema scope score screen
script search second section segment select sender sensor serial series server service session shadow shape shift
signal silver simple single size slice slot smart socket solid sort source space span speed split stack stage state
static status step stone store stream street string style submit suffix sum switch symbol system table target task team
temp term test text theme thread ticket tiger time title token tool topic total tower trace track train tree trial
trigger trip tuple type union unit update upper user valid value vector vendor verify version view vision visit volume
wait walk wallet watch water wave weight wheel width window winter wire word worker world wrap writer yard year zone""".split()
ONSETS = "b br c ch d dr f fl g gr h j k kl l m n p pl qu r s sh sk st t tr v w x y z".split()
VOWELS = "a e i o u ai ea oo y".split()
CODAS = ["", "", "", "n", "r", "s", "l", "t", "m", "x", "ck", "nd"]
EXTENSIONS = ["py"] * 8 + ["c", "js", "rs", "go", "ts", "h", "java", "rb", "sh", "md", "txt", "json", "toml", "cfg"]
FOLDERS = "src lib app tests docs pkg core tools scripts include server client utils internal examples".split()


def syllables(rng, least=2, most=3):
    parts = (rng.choice(ONSETS) + rng.choice(VOWELS) + rng.choice(CODAS) for _ in range(rng.randint(least, most)))
    return "".join(parts)


def word(rng):
    return rng.choice(WORDS) if rng.random() < 0.6 else syllables(rng)


def snake(rng, least=1, most=3):
    """A function or variable name."""
    name = "_".join(word(rng) for _ in range(rng.randint(least, most)))
    if rng.random() < 0.15:
        name = "_" + name
    if rng.random() < 0.12:
        name += str(rng.randint(2, 99))
    return name


def camel(rng):
    """A class name."""
    return "".join(word(rng).capitalize() for _ in range(rng.randint(1, 3)))


def symbol(rng):
    return camel(rng) if rng.random() < 0.2 else snake(rng, 2, 3)


def folder(rng, depth=None):
    depth = depth or rng.choice([1, 1, 2, 2, 3])
    parts = [rng.choice(FOLDERS) if rng.random() < 0.5 else word(rng)]
    parts += ["_".join(word(rng) for _ in range(rng.choice([1, 1, 2]))) for _ in range(depth - 1)]
    return "/".join(parts)


def path(rng, inside=None, extension=None):
    inside = inside or folder(rng)
    if rng.random() < 0.3:
        inside += "/" + word(rng)
    extension = extension or rng.choice(EXTENSIONS)
    return f"{inside}/{snake(rng, 1, 2).strip('_')}.{extension}"


def constant(rng):
    """A literal as it stands in code."""
    kind = rng.randrange(5)
    if kind == 0:
        return str(rng.randint(2, 9999))
    if kind == 1:
        return f"{rng.randint(0, 99)}.{rng.randint(1, 99)}"
    if kind == 2:
        return rng.choice(["None", "True", "False", "[]", "{}"])
    if kind == 3:
        return f'"{word(rng)}"'
    return snake(rng, 2, 2).strip("_").upper()


def distinct(rng, make, count):
    """`count` different values of make(rng)."""
    values = []
    while len(values) < count:
        value = make(rng)
        if value not in values:
            values.append(value)
    return values
