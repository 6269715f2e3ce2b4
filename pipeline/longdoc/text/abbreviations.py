"""Abbreviations with a full stop, and the words that begin sentences: what tells the end of a sentence from a dot.

Lists of our own, of what stands in court decisions, statutes, clinical letters and business papers. They are written
without the last dot and in lower case, but for those that are words when small ("Mass." and "mass"); `auto` is all
of them together.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

__all__ = ["Abbreviations", "abbreviations"]

# No sentence ends with these: a name, a number or an explanation follows.
_NEVER = {
    "": "v vs cf viz resp approx ca c.f e.g i.e op.cit loc.cit n.b q.v",
    "en": "mr mrs ms messrs dr drs prof rev hon hr gen sen rep gov capt cmdr lt col sgt st mt approx incl excl",
    "de": (
        "z.b d.h u.a bzw vgl sog insb insbes ggf evtl evt gem ggü dr prof hr fr frl dipl ing rd zb dh i.s.d i.s.v "
        "i.v.m i.d.r i.h.v i.d.f u.u st.p z.n v.a b.a a.n o.g s.o s.u m.e a.a m.w.n az inkl exkl zzgl"
    ),
    "fr": "mlle mgr dr p.ex",
    "es": "sr sra srta sres dr dra d.ª dª dña d.ña p.ej ud uds vd vds prof lic ing excmo excma ilmo ilma",
    "it": "sig sigg sigra dott dott.ssa avv prof ing geom p.es cfr ss egr spett",
    "pt": "sr sra srs dr dra drs exmo exma v.exa prof p.ex des ilmo",
}

# No sentence ends with these where a number follows: "No. 5", and "No. The court".
_NUMBERED = {
    "": (
        "no nos nr n p pp s ss f ff fn § §§ vol vols fig figs tab eq ch chap sec secs sect art arts cl cls para "
        "paras par pt pts ex exh app doc docs ref id ibid l ll lit sch reg regs r rr tit pub ed stat op amend ser "
        "suppl supp"
    ),
    "en": "ser dkt cir jan feb mar apr jun jul aug sept sep oct nov dec",
    "de": (
        "abs absatz ziff zif bd bde kap abschn rn rdnr rz tz bl buchst hs halbs aufl jg anm nrn jan feb mär apr "
        "jun jul aug sept okt nov dez tel str hausnr"
    ),
    "fr": "al chap ch janv févr avr juil sept oct nov déc req sect cons n° liv",
    "es": "núm num nº n.º pág págs cap apdo apart inc ap disp ene feb abr jun jul ago sept oct nov dic tel",
    "it": "sez co pag pagg cap lett nn artt gen feb mar apr mag giu lug ago set ott nov dic rg r.g",
    "pt": "n.º nº núm pág págs fls fl cap inc al proc jan fev abr mai jun jul ago set out nov dez",
}

# A sentence may end with these: it does where a word follows that often begins one.
_EITHER = {
    "": (
        "etc al seq inc ltd co corp bros llc plc lp jr sr ph.d m.d j.d ll.m ll.b esq dept univ assn ass'n assoc "
        "int'l nat'l gov't dep't u.s u.s.c u.s.c.a c.f.r f.supp f.2d f.3d f.4th s.ct l.ed l.ed.2d n.e.2d s.w.2d "
        "fed cir stat const cert den aff'd rev'd app ct cts dist supr super sup rev bl civ crim"
    ),
    "en": (
        "Ala Ariz Ark Cal Colo Conn Del Fla Ga Ill Ind Kan Ky La Mass Md Mich Minn Miss Mo Mont Neb Nev Okla Or "
        "Pa Tenn Tex Va Vt Wash Wis Wyo pt pts hx dx rx tx sx fx h.s b.i.d t.i.d q.i.d q.d q.h.s p.r.n p.o i.v "
        "i.m s.c a.c p.c b.p r.r a.m p.m yo wk wks mo mos yr yrs hrs temp resp wt ht pos neg abd ext lat bilat "
        "inf sup ant post vit tabs tab caps cap subq avg est dob mg ml mcg kg cm mm fax rd ave blvd dr st sq ft "
        "lbs oz attn govt mgmt misc"
    ),
    "de": (
        "usw usf u.v.m u.ä o.ä o.g gmbh abt str allg bspw beil bearb begr betr bez einschl entspr erg ff geb gest "
        "ges hrsg jhd jh lt mio mrd mwst pat pat.in sen stellv tgl unv urspr urt.v urt v verh versch vorl wdh zt "
        "z.t z.zt i.a i.v i.m s.c p.o li re bds bes ca kl gr beschl bgh.z bverfg.e rspr hm h.m m.a.w a.f a.d o.b "
        "u.e z.h i.o r.r ekg rö path kard neurol chir int orth amb stat postop präop komb ther diagn med unauff "
        "regelr ausr rez chron akut mind max"
    ),
    "fr": (
        "c.e cass civ crim com soc ass plén c.cass c.e.d.h c.j.u.e bull rec av adm trib gaz pal obs conf p.j a.g "
        "s.a s.a.r.l m.a réf préc éd rev sté ets cie bd bât Me MM"
    ),
    "es": "ss.sa s.a s.l s.l.u s.t.s s.s.t.s ee.uu aa.vv vto art.º aprox dpto depto c.p c.c l.o r.d b.o.e",
    "it": (
        "cass civ pen proc cost sent ord trib app c.c c.p c.p.c c.p.p d.lgs d.l d.p.r d.m l.f s.p.a s.r.l s.n.c "
        "g.u ss.uu sez.un n.d.r ecc ca"
    ),
    "pt": "s.a ltda cia etc c.c c.p c.p.c art.º min rel des resp rec ap crim cív un v.u d.o.u d.j eng",
}

_STARTERS = {
    "en": (
        "The This That These Those There Then They Their A An And But Or If In On At As It Its He She His Her We "
        "Our You Your I My For From To With When Where While Who What Which Why How No Not Nor So Such Since "
        "Because Although Though However Therefore Thus Moreover Furthermore Accordingly Here Having Under Upon "
        "After Before During Each Every Both Neither Either Some Any All Plaintiff Plaintiffs Defendant "
        "Defendants Patient Patients Please By Is Are Was Were Do Does Did Has Have Had Can Could May Might Must "
        "Shall Should Will Would"
    ),
    "de": (
        "Der Die Das Den Dem Des Ein Eine Einer Eines Einem Einen Es Er Sie Wir Ihr Ihre Sein Seine Ich Dies "
        "Diese Dieser Dieses Diesem Diesen Da Dann Damit Dabei Dagegen Daher Danach Dazu Doch Aber Und Oder Auch "
        "Als Am An Auf Aus Bei Beim Bis Durch Für Im In Ist Jedoch Kein Keine Mit Nach Nicht Nun Nur Ob Seit So "
        "Sowie Über Um Unter Vom Von Vor Während Was Weil Weiter Weiterhin Wenn Wer Wie Wird Wurde Zu Zum Zur "
        "Zwar Hier Hierzu Hiervon Zudem Ferner Somit"
    ),
    "fr": (
        "Le La Les L Un Une Des Du De D Il Elle Ils Elles Ce C Cette Ces Cet On Nous Vous Je J Et Mais Ou Où Or "
        "Donc Ainsi Alors Après Au Aux Avec Avant Cependant Comme Dans Depuis En Enfin Est Lorsque Même Ne N Par "
        "Pour Pourquoi Puis Qu Que Quel Quelle Qui Quoi S Sa Ses Son Si Sur Tous Toute Toutefois Selon Attendu "
        "Considérant"
    ),
    "es": (
        "El La Los Las Un Una Unos Unas Lo Al Del De En Es Esta Este Esto Estos Estas Ese Esa Y Pero O Si No Se "
        "Su Sus Con Por Para Que Quien Qué Cuando Cómo Como Donde Desde Hasta Entre Ella Él Ellos Nosotros Así "
        "Además Aunque También Según Sin Sobre Tras Ya"
    ),
    "it": (
        "Il Lo La I Gli Le L Un Uno Una Di Da Del Della Dei Delle Al Alla In Nel Nella Con Per Su È E Ed Ma O Se "
        "Non Si Che Chi Come Cosa Questo Questa Questi Quello Quella Egli Ella Essi Esso Esse Quando Dove Dopo "
        "Infatti Inoltre Pertanto Tuttavia Così Anche"
    ),
    "pt": (
        "O A Os As Um Uma Uns Umas De Do Da Dos Das Em No Na Nos Nas Ao À Com Por Para Pelo Pela E Mas Ou Se Não "
        "Que Quem Como Quando Onde Este Esta Isto Esse Essa Isso Ele Ela Eles Elas É Foi Assim Também Porém Ainda "
        "Segundo Após Já"
    ),
}

_ORDINAL_BEFORE = (
    "am im vom zum zur beim der die das den dem des ab bis seit und oder sowie einem einer eines jeden jedes ins dieses"
)
_ORDINAL_AFTER = (
    "Januar Jänner Februar März April Mai Juni Juli August September Oktober November Dezember Jan Feb Mär Apr "
    "Jun Jul Aug Sept Okt Nov Dez Senat Senats Zivilsenat Strafsenat Kammer Zivilkammer Strafkammer Abschnitt "
    "Kapitel Teil Buch Auflage Aufl Jahrhundert Jahrhunderts Lebensjahr Lebensjahres Tag Woche Monat Jahr SSW "
    "Instanz Absatz Satz Halbsatz"
)


@dataclass(frozen=True)
class Abbreviations:
    """What is known of one language, or of all.

    Attributes:
        never: no sentence ends with them.
        numbered: no sentence ends with them where a number follows.
        either: a sentence ends with them where one of `starters` follows.
        starters: words that often begin a sentence, as they are written there.
        ordinal_before, ordinal_after: words around a number with a dot that is an ordinal ("am 3. Mai").
    """

    never: frozenset[str]
    numbered: frozenset[str]
    either: frozenset[str]
    starters: frozenset[str]
    ordinal_before: frozenset[str] = frozenset()
    ordinal_after: frozenset[str] = frozenset()


def abbreviations(language: str | None = None) -> Abbreviations:
    """The lists for a language code (`de`, `de-AT`); all of them for None, `auto` and languages without a list."""
    code = (language or "").replace("_", "-").lower().split("-")[0]
    return _lists(code if code in _STARTERS else "")


@cache
def _lists(code: str) -> Abbreviations:
    def words(table: dict[str, str]) -> frozenset[str]:
        # English and what all have in common are everywhere: texts of every language cite and abbreviate in it.
        chosen = table if not code else {key: table[key] for key in ("", code) if key in table}
        return frozenset(" ".join(chosen.values()).split())

    german = code in ("", "de")
    return Abbreviations(
        never=words(_NEVER),
        numbered=words(_NUMBERED),
        either=words(_EITHER),
        starters=words(_STARTERS),
        ordinal_before=frozenset(_ORDINAL_BEFORE.split() if german else ()),
        ordinal_after=frozenset(_ORDINAL_AFTER.split() if german else ()),
    )
