"""Letters beyond ASCII of the languages whose legacy encodings are told apart. The keys are charset-normalizer's."""

from __future__ import annotations

__all__ = ["ALPHABETS", "COMMON_HAN", "PUNCTUATION"]

ALPHABETS: dict[str, frozenset[str]] = {
    language: frozenset(letters)
    for language, letters in {
        "Czech": "áčďéěíňóřšťúůýž",
        "Croatian": "čćđšž",
        "Danish": "æøåé",
        "Dutch": "áàéèêëíïóôöúü",
        "English": "àâçèéêëîïñôöü",
        "Estonian": "äõöüšž",
        "Finnish": "äåöšž",
        "French": "àâæçèéêëîïôœùûüÿ",
        "German": "äöüßé",
        "Hungarian": "áéíóöőúüű",
        "Italian": "àèéìíîòóù",
        "Lithuanian": "ąčęėįšųūž",
        "Norwegian": "æøåéèêóòô",
        "Polish": "ąćęłńóśźż",
        "Portuguese": "àáâãçéêíóôõúü",
        "Romanian": "ăâîșțşţ",
        "Slovak": "áäčďéíĺľňóôŕšťúýž",
        "Slovene": "čšž",
        "Spanish": "áéíóúüñ",
        "Swedish": "åäöéà",
        "Turkish": "çğıiöşüâîû\u0307",
        "Bulgarian": "абвгдежзийклмнопрстуфхцчшщъьюя",
        "Russian": "абвгдеёжзийклмнопрстуфхцчшщъыьэюя",
        "Serbian": "абвгдђежзијклљмнњопрстћуфхцчџш",
        "Ukrainian": "абвгґдеєжзиіїйклмнопрстуфхцчшщьюя",
        "Greek": "αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋΐΰ",
        "Hebrew": "אבגדהוזחטיךכלםמןנסעףפץצקרשתװױײ",
        "Arabic": "".join(map(chr, range(0x60C, 0x6FA))),
        "Farsi": "".join(map(chr, range(0x60C, 0x6FA))),
        "Thai": "".join(map(chr, range(0xE00, 0xE5C))),
    }.items()
}

PUNCTUATION = frozenset("“”„‚‘’‹›«»–—…•·§°€£©®™¡¿²³½¼¾×ªºµ±№،؛؟´`" + "\u00a0\u00ad\u200c\u200d\u200e\u200f")
"""Signs that occur in texts of any language."""

COMMON_HAN = frozenset(
    "的一是不了在人有我他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可里后小多天而能好"
    "都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经面公同三已从动两长第条法规定者或其及应由内部机关"
    "单位人民會個來時這國為說對過後應關條規權於與"
)
"""Characters of which any Chinese text is full, simplified and traditional."""
