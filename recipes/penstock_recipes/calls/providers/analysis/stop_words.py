"""Words that say nothing about what a call is about."""

_ENGLISH = """
a about above actually after again against all almost already also always am an and any anything are aren't around as at
back be because been before being below between both but by can can't cannot come could couldn't did didn't do does
doesn't doing don't done down during each else even ever every few for from further get gets getting give go goes going
gonna good got great had hadn't has hasn't have haven't having he he'd he'll he's hello her here here's hers herself hey
hi him himself his hmm how however i i'd i'll i'm i've if in into is isn't it it'd it'll it's its itself just kind know
let let's like little look lot made make many may maybe me mean might more most much must mustn't my myself need never
no nor not nothing now of off oh ok okay on once one only or other ought our ours ourselves out over own perhaps please
put quite really right said same saw say see she she'd she'll she's should shouldn't since so some something sorry still
such sure take tell than thank thanks that that'd that'll that's the their theirs them themselves then there there's
these they they'd they'll they're they've thing things think this those though through to too two uh um under until up
upon us very want was wasn't way we we'd we'll we're we've well went were weren't what what's when when's where where's
which while who who's whom why why's will with won't would wouldn't yeah yes yet you you'd you'll you're you've your
yours yourself yourselves
"""
_RUSSIAN = """
а алло б без бы был была были было быть в вам вами вас ваш ваша ваше ваши весь во вот все всего всегда всем всех всю вся
всё вы где говорите говорю да давайте даже для до добрый день его ее ей ему если есть еще ещё ещё её ж же за зачем
здравствуйте здесь и из или им именно ими иногда их к как какая какие какой когда конечно которая которое которые
который которых кто куда ладно ли либо лишь лучше между меня мне много может можно мной мог могу мои мой моя мы на над
надо нам нами нас наш наша не него неё ней нельзя нет нибудь никогда ним них ничего но ну нужно о об один одна однако
он она они оно от очень по под пожалуйста пока после потом потому почему почти при про просто раз разве с сам сама
самый свое свой своя свою себе себя сейчас сказать скажите со совсем спасибо так также такая такие такой там твой те
тебе тебя тем теперь то тобой того тоже той только том тот туда тут ты у уж уже хорошо хоть хотя чего чей чем через что
чтоб чтобы чуть эта эти это этого этой этом этот эту я
"""
STOP_WORDS: dict[str, frozenset[str]] = {"en": frozenset(_ENGLISH.split()), "ru": frozenset(_RUSSIAN.split())}
