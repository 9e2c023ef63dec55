"""A CSV file of another system, in which single fields are replaced and all else stays.

Reading with `csv` and writing again would change quotes, line ends and byte order marks; here
each field knows where it stands in the text.
"""

import csv
import io
from dataclasses import dataclass, field
from pathlib import Path

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Field:
    """One field: its value, and its place in the text."""

    value: str
    start: int
    end: int


@dataclass
class Worksheet:
    """The rows of a CSV file and the changes to make."""

    path: Path
    bom: bytes
    text: str
    rows: list[list[Field]]
    changes: dict[tuple[int, int], str] = field(default_factory=dict)

    @property
    def header(self) -> list[str]:
        return [one.value.strip() for one in self.rows[0]]

    def column(self, *names: str) -> int:
        """Return the index of the column called one of `names`, or -1 where there is none."""
        wanted = {name.lower() for name in names}
        found = [at for at, name in enumerate(self.header) if name.lower() in wanted]
        if len(found) > 1:
            raise ValueError(f"{self.path} has several columns called {self.header[found[0]]!r}")
        return found[0] if found else -1

    def value(self, row: int, column: int) -> str:
        """Return a field's value, empty if the row is short or the column is -1."""
        fields = self.rows[row]
        return fields[column].value if 0 <= column < len(fields) else ""

    def set(self, row: int, column: int, value: str) -> None:
        """Replace a field; raises ValueError for a row that is too short to have it."""
        if column >= len(self.rows[row]):
            raise ValueError(
                f"{self.path}: row {row + 1} has {len(self.rows[row])} fields, and the header "
                f"{len(self.header)}: export it again"
            )
        self.changes[row, column] = value

    def content(self) -> bytes:
        """Return the file with the changes made."""
        parts, place = [], 0
        for (row, column), value in sorted(self.changes.items()):
            here = self.rows[row][column]
            parts += [self.text[place : here.start], quoted(value)]
            place = here.end
        return self.bom + "".join([*parts, self.text[place:]]).encode("utf-8")


def quoted(value: str) -> str:
    """Return a value as a CSV field."""
    if any(sign in value for sign in ',"\r\n') or value != value.strip():
        return '"' + value.replace('"', '""') + '"'
    return value


def read_worksheet(path: Path) -> Worksheet:
    """Read a CSV file in UTF-8; raises ValueError for another encoding or no CSV, OSError."""
    content = path.read_bytes()
    bom = BOM if content.startswith(BOM) else b""
    try:
        text = content[len(bom) :].decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(
            f"{path} is not in UTF-8, as exports are: a spreadsheet may have saved it in "
            "another encoding. Export it again and leave it as it is"
        ) from None
    rows = split(text)
    plain = [row for row in csv.reader(io.StringIO(text, newline="")) if row]
    if [[one.value for one in row] for row in rows] != plain or not rows:
        raise ValueError(f"{path} is no table with commas between its fields")
    return Worksheet(path, bom, text, rows)


def split(text: str) -> list[list[Field]]:
    """Return the fields of each row with their places."""
    rows: list[list[Field]] = []
    row: list[Field] = []
    at = 0
    while at < len(text):
        end = field_end(text, at)
        row.append(Field(unquoted(text[at:end]), at, end))
        at = end + 1
        if end == len(text) or text[end] in "\r\n":
            if len(row) > 1 or row[0].start < row[0].end:
                rows.append(row)
            row = []
            if text[end : end + 2] == "\r\n":
                at += 1
        elif at == len(text):  # a comma ends the text: one more field, an empty one
            rows.append([*row, Field("", at, at)])
    return rows


def field_end(text: str, at: int) -> int:
    """Return where the field that starts at `at` ends."""
    inside = False
    opens = text[at : at + 1] == '"'
    while at < len(text):
        sign = text[at]
        if sign == '"' and opens:
            inside = not inside
        elif not inside and sign in ",\r\n":
            return at
        at += 1
    return at


def unquoted(raw: str) -> str:
    """Return the value of a field as it stands in the text."""
    if not raw.startswith('"'):
        return raw
    body, _, rest = raw[1:].replace('""', "\0").partition('"')
    return body.replace("\0", '"') + rest
