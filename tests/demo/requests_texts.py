"""Messages that ask for new files, and the text of each; None is a sample."""

# ruff: noqa: RUF001, E501 - requests are data, with quotation marks of every kind

from __future__ import annotations

TEXTS: list[tuple[str, dict[str, str | None]]] = [
    ("Make b.txt but don't make c.txt", {"b.txt": None}),
    ('Create hello.txt with the text "hello world".', {"hello.txt": "hello world"}),
    ('Write "hello" to x.txt and "bye" to y.txt.', {"x.txt": "hello", "y.txt": "bye"}),
    ('Make a.txt with "x" and b.txt with "y".', {"a.txt": "x", "b.txt": "y"}),
    (
        'Please produce three files: one.txt containing "1", two.txt containing "2" and three.txt containing "3".',
        {"one.txt": "1", "two.txt": "2", "three.txt": "3"},
    ),
    (
        'I need a.txt, b.txt and c.txt, each with the text "same here"',
        {"a.txt": "same here", "b.txt": "same here", "c.txt": "same here"},
    ),
    ("Create list.md containing: eggs, milk, bread", {"list.md": "eggs, milk, bread"}),
    (
        "Create poem.txt with the following content:\nline one\nline two\n\nline three",
        {"poem.txt": "line one\nline two\n\nline three"},
    ),
    (
        "Make these files:\n- a.txt: alpha\n- b.txt: beta",
        {"a.txt": "alpha", "b.txt": "beta"},
    ),
    ("make me a text file that says hi", {"demo.txt": "hi"}),
    ("Make me a file", {"demo.txt": None}),
    (
        "Erstelle bitte eine Textdatei mit dem Text „Hallo Welt“.",
        {"demo.txt": "Hallo Welt"},
    ),
    ("Schreibe „Guten Tag“ in gruss.txt", {"gruss.txt": "Guten Tag"}),
    ("Écris « bonjour » dans salut.txt", {"salut.txt": "bonjour"}),
    ("Make ../../etc/evil.txt", {"evil.txt": None}),
    ("Put the words red, green in colours.txt", {"colours.txt": "red, green"}),
    (
        "make notes.txt saying hello there and tell me when done",
        {"notes.txt": "hello there"},
    ),
    ('Create x.txt. It should contain "inside".', {"x.txt": "inside"}),
    ("make a file called notes", {"notes": None}),
    (
        "Create `main.py` with\n```python\nprint('hi')\n```\n",
        {"main.py": "print('hi')"},
    ),
    ("Save the letters abc as abc.txt", {"abc.txt": None}),
    (
        "Zwei Dateien bitte: eins.txt mit „A“ und zwei.txt mit „B“",
        {"eins.txt": "A", "zwei.txt": "B"},
    ),
    (
        "I want 'first one.txt', 'second.txt' and 'third & last.txt'.",
        {"first one.txt": None, "second.txt": None, "third & last.txt": None},
    ),
    (
        "New file please: 'o'clock.txt' with the contents \"ten o'clock\".",
        {"o'clock.txt": "ten o'clock"},
    ),
    (
        "Produce “naïve café.txt” holding the words “un café”.",
        {"naïve café.txt": "un café"},
    ),
    (
        'Please write three files for me - alpha.txt, beta.md and gamma.json. Put "A" in the first, "B" in the second and "C" in the third.',
        {"alpha.txt": "A", "beta.md": "B", "gamma.json": "C"},
    ),
    (
        "Generate report-2024.csv with this content: a,b,c\n1,2,3\n4,5,6",
        {"report-2024.csv": "a,b,c\n1,2,3\n4,5,6"},
    ),
    ("In a file named todo.txt, write: buy milk", {"todo.txt": "buy milk"}),
    ("Write the following line to out.log: started ok", {"out.log": "started ok"}),
    (
        "Could I get hello.txt that just says good morning?",
        {"hello.txt": "good morning"},
    ),
    ("Save your answer as answer.md", {"answer.md": None}),
    (
        "Deliver “ü & ö — 5%.txt”, “#2 plan.md” and “tab,comma;semi.csv”, please",
        {"ü & ö — 5%.txt": None, "#2 plan.md": None, "tab,comma;semi.csv": None},
    ),
    ('I\'d like you to create a blank file "empty.txt"', {"empty.txt": None}),
    ("What is the capital of France? Put it in capital.txt", {"capital.txt": None}),
    ("Make sure you don't forget to make x.txt", {"x.txt": None}),
    (
        "Bitte schreibe drei Dateien: a.txt, b.txt und c.txt.",
        {"a.txt": None, "b.txt": None, "c.txt": None},
    ),
    ("can you make x.txt", {"x.txt": None}),
    (
        'Attach a file to your reply. Call it "for you.txt". Its only content must be "secret 42".',
        {"for you.txt": "secret 42"},
    ),
    (
        "The text \"abc def\" should end up in a file whose name is 'target name.txt'.",
        {"target name.txt": "abc def"},
    ),
    ("create new file x.txt: content hello", {"x.txt": "content hello"}),
    ("Take a.txt", {"a.txt": None}),
    (
        "Erzeuge eine Datei namens Übung 1.txt mit dem Inhalt: Hallo",
        {"Übung 1.txt": "Hallo"},
    ),
    (
        "Crée trois fichiers : un.txt contenant « 1 », deux.txt contenant « 2 » et trois.txt contenant « 3 »",
        {"un.txt": "1", "deux.txt": "2", "trois.txt": "3"},
    ),
    (
        'Could you please create the files "one two.txt", "three.txt" and "four.txt"? Each should contain "ok".',
        {"one two.txt": "ok", "three.txt": "ok", "four.txt": "ok"},
    ),
    (
        "please make 2 files, x1.txt with the text: one, and x2.txt with the text: two",
        {"x1.txt": "one", "x2.txt": "two"},
    ),
    (
        "Make 'a.txt' and 'b.txt'.\nThe first says \"1\", the second says \"2\".",
        {"a.txt": "1", "b.txt": "2"},
    ),
    (
        "Könntest du mir bitte drei Dateien schreiben: „a ä.txt“ mit dem Text „eins“, „b ö.txt“ mit dem Text „zwei“ und „c ü.txt“ mit dem Text „drei“?",
        {"a ä.txt": "eins", "b ö.txt": "zwei", "c ü.txt": "drei"},
    ),
    (
        "Pourrais-tu créer un fichier « liste.txt » contenant : pommes, poires ?",
        {"liste.txt": "pommes, poires ?"},
    ),
    ("I don't want x.txt, I want y.txt", {"y.txt": None}),
    ("Instead of a.txt make b.txt", {"b.txt": None}),
    (
        'Call the new file "draft #3.md" and put "Hello, Bob. Bye." in it.',
        {"draft #3.md": "Hello, Bob. Bye."},
    ),
    (
        'Please prepare greetings.txt; it must read exactly "Hi — how’s it going?"',
        {"greetings.txt": "Hi — how’s it going?"},
    ),
    (
        'Create two files. The first is called p.txt and contains "P". The second is called q.txt and contains "Q".',
        {"p.txt": "P", "q.txt": "Q"},
    ),
    (
        "Create “p q.txt” with “1, 2. 3” inside and “r.txt” with “it’s”",
        {"p q.txt": "1, 2. 3", "r.txt": "it’s"},
    ),
    (
        'Put "alpha" into 1.txt, "beta" into 2.txt and "gamma" into 3.txt',
        {"1.txt": "alpha", "2.txt": "beta", "3.txt": "gamma"},
    ),
    (
        "a file named hello world.txt that says hello world",
        {"hello world.txt": "hello world"},
    ),
    ('output.json with {"a": 1}', {"output.json": None}),
    ("Write a text file which reads: all good", {"demo.txt": "all good"}),
    ("please write a file", {"demo.txt": None}),
    (
        "Could you produce some document for me to test the transfer?",
        {"demo.txt": None},
    ),
    ("Please test file transfer: send me any file", {"demo.txt": None}),
    ("test.txt", {"test.txt": None}),
    ("test.txt please", {"test.txt": None}),
    ("One more: final.txt", {"final.txt": None}),
    (
        'Save the following to log.txt:\n```\nline 1\nline 2: "x"\n```\nThanks!',
        {"log.txt": 'line 1\nline 2: "x"'},
    ),
    (
        "Create notes.txt with exactly this text:\n\nfoo. bar\nbaz",
        {"notes.txt": "foo. bar\nbaz"},
    ),
    (
        "Make three files. 'uno dos.txt': hola. 'tres.txt': adios. 'cuatro.txt': fin.",
        {"uno dos.txt": "hola.", "tres.txt": "adios.", "cuatro.txt": "fin."},
    ),
    (
        "Kindly write \"first\" in 'f 1.txt', \"second\" in 'f 2.txt', \"third\" in 'f 3.txt'.",
        {"f 1.txt": "first", "f 2.txt": "second", "f 3.txt": "third"},
    ),
    (
        'I want a file. Its name: "n a m e.txt". Its text: "t e x t".',
        {"n a m e.txt": "t e x t"},
    ),
]
