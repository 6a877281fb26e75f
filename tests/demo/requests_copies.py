"""Messages that ask for copies: how many files were sent, and what comes of it.

A number is the index of the sent file that the new one is a copy of.
"""

# ruff: noqa: RUF001, E501 - requests are data, with quotation marks of every kind

from __future__ import annotations

COPIES: list[tuple[str, int, dict[str, int | str | None]]] = [
    (
        "Copy the input file listed below into a new file named output-12ab.txt, byte for byte. Finish the write before replying. Do not reconstruct or guess the file contents. Then reply with one short sentence saying you are done.",
        1,
        {"output-12ab.txt": 0},
    ),
    (
        'Please duplicate the attachment as "Q3 summary (final).pdf".',
        1,
        {"Q3 summary (final).pdf": 0},
    ),
    (
        "Chuck the upload into it's-here.bin, no changes whatsoever please",
        1,
        {"it's-here.bin": 0},
    ),
    (
        "Return the document to me under the name 'it's fine.pdf'",
        1,
        {"it's fine.pdf": 0},
    ),
    (
        "I'd like the same bytes back in a file called Grüße aus Köln.pdf",
        1,
        {"Grüße aus Köln.pdf": 0},
    ),
    ("Send me a copy of it back", 1, {"report.pdf": 0}),
    ("Could you hand the file back to me?", 1, {"report.pdf": 0}),
    ("Schick mir bitte eine Kopie der Datei zurück.", 1, {"report.pdf": 0}),
    ("Renvoie-moi une copie du fichier", 1, {"report.pdf": 0}),
    ("Save it as b.pdf, not a.pdf", 1, {"b.pdf": 0}),
    ("Kopiere das Dokument nach »Kopie von mir.pdf«.", 1, {"Kopie von mir.pdf": 0}),
    ("Copie le document joint sous le nom « été 2024.pdf ».", 1, {"été 2024.pdf": 0}),
    (
        "Copy alpha.csv to first.csv and beta photo.png to second.png.",
        2,
        {"first.csv": 0, "second.png": 1},
    ),
    (
        "Copy beta photo.png to first.png and alpha.csv to second.csv.",
        2,
        {"first.png": 1, "second.csv": 0},
    ),
    (
        "Give me both documents under the names “erste Datei.csv” and “zweites Bild.png”",
        2,
        {"erste Datei.csv": 0, "zweites Bild.png": 1},
    ),
    ("Save three copies: a.pdf, b.pdf, c.pdf", 1, {"a.pdf": 0, "b.pdf": 0, "c.pdf": 0}),
    ("Can you copy report.pdf to x.pdf?", 1, {"x.pdf": 0}),
    ("Would you mind saving it as `back tick.pdf`?", 1, {"back tick.pdf": 0}),
    (
        "What does report.pdf say? Also write a short note in answer.txt",
        1,
        {"answer.txt": 0},
    ),
    ("The attached document as final version.pdf", 1, {"final version.pdf": 0}),
    ('Copy the file to x.pdf and reply with "done".', 1, {"x.pdf": 0}),
    ('Copy the file to x.pdf, then say "all done".', 1, {"x.pdf": 0}),
    (
        "Without altering a single byte, place the upload in result.dat.",
        1,
        {"result.dat": 0},
    ),
    ("Do not change anything when copying it to same.pdf", 1, {"same.pdf": 0}),
    ("Rename report.pdf to new.pdf", 1, {"new.pdf": 0}),
    ("Please read report.pdf and write what you see into seen.txt", 1, {"seen.txt": 0}),
    (
        "Please store the upload twice, once as 写真.pdf and once as 文書 コピー.pdf",
        1,
        {"写真.pdf": 0, "コピー.pdf": 0},
    ),
    (
        'Mach mir drei Kopien davon: „a b.pdf“, ‚c d.pdf‘ und "e f.pdf"',
        1,
        {"a b.pdf": 0, "c d.pdf": 0, "e f.pdf": 0},
    ),
    (
        "Bitte lege die angehängte Datei unverändert als Ergebnis-7.pdf ab.",
        1,
        {"Ergebnis-7.pdf": 0},
    ),
    (
        "Kannst du mir das Dokument unter dem Namen „Bericht (neu).pdf“ zurückgeben?",
        1,
        {"Bericht (neu).pdf": 0},
    ),
    ("Peux-tu dupliquer le fichier sous le nom « l'été.pdf » ?", 1, {"l'été.pdf": 0}),
    ("Enregistre une copie dans sortie.pdf s'il te plaît.", 1, {"sortie.pdf": 0}),
    (
        'Take what I attached and drop it, bit for bit, in "final cut.bin". When that is finished, say so briefly.',
        1,
        {"final cut.bin": 0},
    ),
    (
        "Here's a doc. I want it back as result_final-v2.pdf. One sentence reply.",
        1,
        {"result_final-v2.pdf": 0},
    ),
    (
        "I was wondering whether you could make me backup.pdf from the attachment?",
        1,
        {"backup.pdf": 0},
    ),
    ('Give the upload a new name: "renamed file.pdf"', 1, {"renamed file.pdf": 0}),
    (
        "Copy both: alpha.csv → eins.csv, beta photo.png → zwei.png",
        2,
        {"eins.csv": 0, "zwei.png": 1},
    ),
    (
        "One more time, all of them back please",
        2,
        {"alpha.csv": 0, "beta photo.png": 1},
    ),
    ("Duplicate beta photo.png as picture.png", 2, {"picture.png": 1}),
    (
        "Put the csv in numbers.csv and the picture in pic.png, exactly as they are.",
        2,
        {"numbers.csv": 0, "pic.png": 1},
    ),
    ("Place the picture in pic.png", 2, {"pic.png": 1}),
    (
        'Copy the attachment to copy.pdf and also make note.txt with the text "copied".',
        1,
        {"copy.pdf": 0, "note.txt": "copied"},
    ),
    (
        'Make note.txt with the text "copied" and put a duplicate of the attachment into copy.pdf',
        1,
        {"note.txt": "copied", "copy.pdf": 0},
    ),
    (
        "Hand me a verbatim copy under the name Ωmega.pdf, then reply with a single short line.",
        1,
        {"Ωmega.pdf": 0},
    ),
    ("Copy it", 1, {"report.pdf": 0}),
    (
        'Copy the attached file into a new file. Name it "brand new.pdf".',
        1,
        {"brand new.pdf": 0},
    ),
    ("Save the exact bytes as ‘single curly.pdf’", 1, {"single curly.pdf": 0}),
    ("name the copy \"quote 'inside' it.pdf\"", 1, {"quote 'inside' it.pdf": 0}),
    (
        "Gib mir die Datei unter zwei Namen: erste.pdf sowie zweite.pdf",
        1,
        {"erste.pdf": 0, "zweite.pdf": 0},
    ),
    ("Make me a copy of the attached under the name x.PDF", 1, {"x.PDF": 0}),
    ("Convert the attachment to plain text and call it plain.txt", 1, {"plain.txt": 0}),
    ('I attached report.pdf. Send it back as "My Report.pdf"', 1, {"My Report.pdf": 0}),
    (
        "I have attached a file. Please give it back to me unchanged.",
        1,
        {"report.pdf": 0},
    ),
    (
        'Reproduce the enclosed upload, bit by bit, under the title "dup licate.pdf" and acknowledge in a few words.',
        1,
        {"dup licate.pdf": 0},
    ),
    (
        "Take the file I sent and write its bytes to 'x y z.dat' - finish that first.",
        1,
        {"x y z.dat": 0},
    ),
    ("Mirror my upload to mirror.pdf", 1, {"mirror.pdf": 0}),
    (
        "I need that document again, this time called ünïcode ñame.pdf. Thanks",
        1,
        {"ünïcode ñame.pdf": 0},
    ),
    (
        "Clone all three: “one.csv”, “two.png” and “three.md”",
        3,
        {"one.csv": 0, "two.png": 1, "three.md": 2},
    ),
    (
        "Every upload should be returned: a.csv for the table, b.png for the picture, c.md for the notes",
        3,
        {"a.csv": 0, "b.png": 1, "c.md": 2},
    ),
    (
        "notes.md → n.md, alpha.csv → a.csv, beta photo.png → b.png",
        3,
        {"n.md": 2, "a.csv": 0, "b.png": 1},
    ),
    ("Only copy notes.md, as only.md", 3, {"only.md": 2}),
    ("Send notes.md back to me.", 3, {"notes.md": 2}),
    (
        'Please echo the attachment into a file of the name echo.pdf and then answer "ok".',
        1,
        {"echo.pdf": 0},
    ),
    (
        "Dupliziere den Anhang Byte für Byte als „Kopie Nr. 1.pdf“ und antworte danach kurz.",
        1,
        {"Kopie Nr. 1.pdf": 0},
    ),
    (
        "Fais une copie exacte de la pièce jointe et nomme-la « copie conforme.pdf ».",
        1,
        {"copie conforme.pdf": 0},
    ),
    ("Rename my upload: new name is 'Final (1).pdf'", 1, {"Final (1).pdf": 0}),
    (
        "I'm sending you a document. Kindly give it back as “as is.pdf”.",
        1,
        {"as is.pdf": 0},
    ),
    ("The output should be in result.pdf", 1, {"result.pdf": 0}),
    ("return it as a.b.c.pdf", 1, {"a.b.c.pdf": 0}),
    (
        "Copy the attached document into a new file: Über-Größe 100%.pdf",
        1,
        {"Über-Größe 100%.pdf": 0},
    ),
    (
        'Please copy the file I gave you into a file named "x" without extension',
        1,
        {"x": 0},
    ),
    (
        "Copy the upload byte-for-byte to the file 'tricky, name; here.pdf' before you answer.",
        1,
        {"tricky, name; here.pdf": 0},
    ),
    (
        "Read what is listed here and hand back an exact duplicate called Ziel Datei.txt. One sentence is enough as an answer.",
        1,
        {"Ziel Datei.txt": 0},
    ),
    (
        'The document below: please store it again, unmodified, with the filename "wieder da.bin".',
        1,
        {"wieder da.bin": 0},
    ),
    (
        'Use the file. Output: "o ut.dat". Must be bit-identical. Reply after writing.',
        1,
        {"o ut.dat": 0},
    ),
    (
        "Before you answer, place an identical twin of my document at “twin – 2.docx”. Afterwards write one brief line.",
        1,
        {"twin – 2.docx": 0},
    ),
    (
        'Kopier die Datei unverändert in "ziel.txt" und antworte erst danach mit einem kurzen Satz.',
        1,
        {"ziel.txt": 0},
    ),
    (
        "Merci de recopier la pièce jointe, octet par octet, dans 'résultat final.txt', puis réponds en une phrase.",
        1,
        {"résultat final.txt": 0},
    ),
    ('Haz una copia en "salida.txt"', 1, {"salida.txt": 0}),
    (
        "Produce “a.txt”, “b.txt” and “c.txt”; all of them copies.",
        1,
        {"a.txt": 0, "b.txt": 0, "c.txt": 0},
    ),
    ("Copy the attachment (report.pdf) to backup (1).pdf", 1, {"backup (1).pdf": 0}),
]
