"""Guesses of legacy encodings: right where there is one, and none rather than a wrong one."""

from __future__ import annotations

import pytest

from longdoc.readers.guessing import guess_encoding

TEXTS = {
    "Spanish": "El niño acudió a la consulta con fiebre; según su médico, la exploración física no mostró "
    "ninguna señal.",
    "French": "Le présent contrat est conclu à Paris entre les parties désignées ci-après, qui ont été informées de "
    "leurs droits et obligations, et dont les adresses figurent à l'annexe.",
    "German": "Der Käufer verpflichtet sich, den Kaufpreis spätestens fünf Tage nach Übergabe der Ware zu zahlen; die "
    "Gewährleistung für Mängel ist ausgeschlossen, soweit das Gesetz es erlaubt.",
    "Polish": "Pacjent skarży się na kaszel i gorączkę od kilku dni. Rozpoczęto leczenie, a następna wizyta odbędzie "
    "się za tydzień, chyba że dolegliwości ustąpią wcześniej.",
    "Turkish": "Hasta birkaç gündür öksürük ve yüksek ateşten şikâyet ediyor. Tedaviye başlandı ve bir hafta sonra "
    "kontrole gelmesi istendi; ağrı kesici de verildi.",
    "Russian": "Пациент жалуется на кашель и высокую температуру. Назначено лечение на дому, явка через неделю.",
    "Ukrainian": "Пацієнт скаржиться на кашель і високу температуру. Призначено лікування вдома, наступний візит "
    "через тиждень, якщо не стане гірше. Його родина також була оглянута.",
    "Greek": "Ο ασθενής παραπονείται για βήχα και υψηλό πυρετό εδώ και μερικές ημέρες. Η θεραπεία άρχισε αμέσως "
    "και ο γιατρός ζήτησε να επιστρέψει σε μία εβδομάδα για νέα εξέταση στο νοσοκομείο της πόλης.",
    "Hebrew": "החולה מתלונן על שיעול ועל חום גבוה זה כמה ימים. הטיפול התחיל מיד, והוא יחזור לביקורת בשבוע הבא.",
    "Arabic": "يشكو المريض من السعال وارتفاع درجة الحرارة منذ عدة أيام. بدأ العلاج على الفور وسيعود بعد أسبوع.",
    "Chinese": "本法所称的合同是民事主体之间设立、变更、终止民事法律关系的协议。当事人应当按照约定全面履行自己的义务。",
    "Taiwan": "本法所稱的契約是人民之間設立、變更、終止法律關係的協議。當事人應當按照約定履行自己的義務。",
    "Japanese": "患者は数日前から発熱と咳を訴えている。すぐに治療を開始し、一週間後に再び来院するように伝えた。",
    "Korean": "환자는 며칠 전부터 발열과 기침을 호소하고 있다. 치료를 바로 시작했으며 일주일 뒤에 다시 오기로 했다.",
}
SURE = [
    *(("Spanish", "cp1252"), ("French", "cp1252"), ("German", "cp1252"), ("Polish", "cp1250"), ("Polish", "iso8859_2")),
    *(("Turkish", "cp1254"), ("Russian", "cp1251"), ("Russian", "koi8_r"), ("Russian", "cp866")),
    *(("Russian", "iso8859_5"), ("Ukrainian", "cp1251"), ("Ukrainian", "koi8_u"), ("Greek", "cp1253")),
    *(("Hebrew", "cp1255"), ("Arabic", "cp1256"), ("Chinese", "gb18030"), ("Taiwan", "big5")),
    *(("Japanese", "cp932"), ("Japanese", "euc_jp"), ("Korean", "cp949")),
]


@pytest.mark.parametrize(("language", "name"), SURE)
def test_guess_reads_the_text_as_it_was_written(language: str, name: str) -> None:
    data = (TEXTS[language] * 2).encode(name)
    guess = guess_encoding(data)
    assert guess is not None
    assert data.decode(guess) == TEXTS[language] * 2


@pytest.mark.parametrize("name", ["mac_roman", "cp850", "cp437", "cp037"])
def test_no_guess_where_the_encoding_is_not_among_the_known(name: str) -> None:
    assert guess_encoding((TEXTS["German"] * 2).encode(name)) is None


@pytest.mark.parametrize("language", ["Spanish", "Polish", "Russian", "Japanese", "Korean"])
def test_a_text_too_short_to_tell_gives_no_wrong_answer(language: str) -> None:
    name = dict(SURE)[language]
    for length in (3, 5, 8, 12):
        data = TEXTS[language][:length].encode(name)
        guess = guess_encoding(data)
        assert guess is None or data.decode(guess) == TEXTS[language][:length]


def test_random_bytes_give_no_answer() -> None:
    import random

    for seed in range(5):
        assert guess_encoding(random.Random(seed).randbytes(3000)) is None


def test_real_texts_are_guessed_right_or_not_at_all(shared_folder: object) -> None:
    """Legal and medical texts of the trade in their usual legacy encodings: no wrong reading, few refusals."""
    import gzip
    import json
    from pathlib import Path

    root = Path(str(shared_folder)) / "data"
    for corpus, name in (("meddocan", "cp1252"), ("lener-br", "cp1252"), ("zh-laws", "gb18030")):
        refused = read = 0
        with gzip.open(root / corpus / "validation.jsonl.gz") as lines:
            for line in lines:
                data = json.loads(line)["text"][:4000].encode(name, "ignore")
                if data.isascii() or read >= 60:
                    continue
                read += 1
                guess = guess_encoding(data)
                refused += guess is None
                assert guess is None or data.decode(guess, "replace") == data.decode(name, "replace")
        assert read
        assert refused <= 0.1 * read
