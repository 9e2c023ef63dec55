"""The drawing of tiles shows the shapes it was given, at the places that belong together."""

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from ampcourse.plotting import figure_html
from ampcourse.plotting.tiles import tiles


def rectangles(ax: Axes, hatched: bool) -> list[tuple[float, float, float, float]]:
    """Return x, y, width and height of the matrices, or of their hatched tiles."""
    patches = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    chosen = [patch for patch in patches if bool(patch.get_hatch()) == hatched]
    return [(*patch.get_xy(), patch.get_width(), patch.get_height()) for patch in chosen]


def test_matrices_have_the_shapes_that_were_given() -> None:
    sizes = [size for _, _, *size in rectangles(tiles(64, 32, 48, (16, 8, 16)), hatched=False)]
    assert sizes == [[48, 64], [32, 48], [32, 64]]


def test_tiles_have_the_shapes_of_the_instruction() -> None:
    sizes = [size for _, _, *size in rectangles(tiles(64, 32, 48, (16, 8, 12)), hatched=True)]
    assert sizes == [[12, 16], [8, 12], [8, 16]]


def test_the_tile_of_d_lies_beside_that_of_a_and_below_that_of_b() -> None:
    of_a, of_b, of_d = rectangles(tiles(64, 32, 48, (16, 8, 16)), hatched=True)
    assert of_a[1] == of_d[1]
    assert of_b[0] == of_d[0]


def test_every_tile_lies_inside_its_matrix() -> None:
    ax = tiles(16, 8, 16, (16, 8, 16))
    for (x, y, w, h), (left, top, width, height) in zip(
        rectangles(ax, hatched=True), rectangles(ax, hatched=False), strict=True
    ):
        assert left <= x <= x + w <= left + width
        assert top <= y <= y + h <= top + height


def test_each_matrix_is_named_with_its_shape() -> None:
    texts = [text.get_text() for text in tiles(64, 32, 48, (16, 8, 16)).texts]
    assert texts == ["A: 64 × 48", "B: 48 × 32", "C and D: 64 × 32"]


def test_the_drawing_is_small_on_the_page() -> None:
    ax = tiles(64, 32, 64, (16, 8, 16))
    assert len(figure_html(ax, "three matrices")) < 30_000
