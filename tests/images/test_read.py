import os
import socket
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from if2net.errors import InputError
from if2net.images.read import LARGEST, LARGEST_JPEG, SUFFIXES, Framing, frame_pixels, read_image

SMALL = Framing(20, 16)


def gradient(width=60, height=40):
    """An image whose red grows from left to right and whose green grows from top to bottom."""
    red = np.broadcast_to(np.linspace(0, 255, width), (height, width))
    green = np.broadcast_to(np.linspace(0, 255, height)[:, None], (height, width))
    return np.stack([red, green, np.full((height, width), 80)], axis=2).astype(np.uint8)


@pytest.fixture
def wanted(tmp_path):
    Image.fromarray(gradient()).save(tmp_path / "plain.png")
    return read_image(tmp_path / "plain.png", SMALL).astype(int)


def saved(tmp_path, image, name, **settings):
    image.save(tmp_path / name, **settings)
    return read_image(tmp_path / name, SMALL).astype(int)


def test_the_middle_of_the_image_is_kept_at_the_given_scale(wanted):
    assert wanted.shape == (16, 16, 3)
    assert wanted[8, 8].tolist() == pytest.approx([127, 127, 80], abs=12)
    assert wanted[0, 0, 1] == pytest.approx(0.1 * 255, abs=12)  # a tenth of the height is cropped
    assert (np.diff(wanted[8, :, 0]) > 0).all()


@pytest.mark.parametrize("mode", ["RGB", "CMYK", "L"])
@pytest.mark.parametrize("name", ["image.jpg", "image.tif"])
def test_all_colour_spaces_become_rgb(tmp_path, wanted, mode, name):
    image = Image.fromarray(gradient()).convert(mode)
    found = saved(tmp_path, image, name)
    if mode == "L":
        assert (found[..., 0] == found[..., 2]).all()
        found, wanted = found.mean(axis=2), np.asarray(Image.fromarray(wanted.astype(np.uint8)).convert("L"))
    np.testing.assert_allclose(found, wanted, atol=16)


@pytest.mark.parametrize("name", ["deep.png", "deep.tif"])
def test_sixteen_bits_keep_their_range(tmp_path, name):
    values = np.broadcast_to(np.linspace(0, 65535, 40).astype(np.uint16), (40, 40))
    found = saved(tmp_path, Image.fromarray(values), name)
    assert found[8, 0, 0] < 40
    assert found[8, 8, 0] == pytest.approx(135, abs=12)
    assert found[8, -1, 0] > 215


@pytest.mark.parametrize("kind", [np.int32, np.uint16])
def test_integers_up_to_255_stay_as_they_are(tmp_path, kind):
    found = saved(tmp_path, Image.fromarray(np.full((40, 40), 200, kind)), "shallow.tif")
    assert (found == 200).all()


def test_transparent_pixels_become_white(tmp_path):
    pixels = np.zeros((40, 40, 4), np.uint8)
    pixels[:, 20:] = [255, 0, 0, 255]
    found = saved(tmp_path, Image.fromarray(pixels), "clear.png")
    assert found[8, 2].tolist() == [255, 255, 255]
    assert found[8, -3].tolist() == [255, 0, 0]


def test_the_first_frame_of_an_animation_is_read(tmp_path, wanted):
    first, second = Image.fromarray(gradient()), Image.new("RGB", (60, 40), "blue")
    found = saved(tmp_path, first, "moving.gif", save_all=True, append_images=[second])
    np.testing.assert_allclose(found, wanted, atol=40)


@pytest.mark.parametrize("mode", ["RGB", "L"])
@pytest.mark.parametrize(("orientation", "turns"), [(3, 2), (6, 1), (8, 3)])
def test_the_rotation_of_a_camera_is_undone(tmp_path, orientation, turns, mode):
    upright = gradient(40, 40)
    exif = Image.Exif()
    exif[0x0112] = orientation
    lying = Image.fromarray(np.rot90(upright, turns).copy()).convert(mode)
    found = saved(tmp_path, lying, "turned.jpg", exif=exif, quality=95)
    wanted = saved(tmp_path, Image.fromarray(upright).convert(mode), "upright.jpg", quality=95)
    np.testing.assert_allclose(found, wanted, atol=12)


@pytest.mark.parametrize("shape", [(1, 3000), (3000, 1), (1, 1)])
def test_images_may_have_any_shape(tmp_path, shape):
    assert saved(tmp_path, Image.new("RGB", shape, "red"), "odd.png")[3, 3].tolist() == [255, 0, 0]


def test_a_very_large_jpeg_is_decoded_at_a_smaller_scale_without_a_warning(tmp_path):
    side = int(LARGEST**0.5) + 200
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = saved(tmp_path, Image.new("L", (side, side), 200), "large.jpg")
    assert found[8, 8].tolist() == pytest.approx([200] * 3, abs=2)


@pytest.mark.parametrize(("limit", "readable"), [(LARGEST_JPEG, True), (1000, False)])
def test_a_jpeg_that_pillow_itself_refuses_is_read_up_to_a_limit(tmp_path, monkeypatch, limit, readable):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 500)  # Pillow refuses images of twice this size
    monkeypatch.setattr("if2net.images.read.LARGEST_JPEG", limit)
    Image.new("L", (40, 40), 200).save(tmp_path / "large.jpg")
    if readable:
        assert read_image(tmp_path / "large.jpg", SMALL)[8, 8].tolist() == pytest.approx([200] * 3, abs=2)
        return
    with pytest.raises(InputError, match="too many pixels"):
        read_image(tmp_path / "large.jpg", SMALL)


def test_reading_sixteen_bits_takes_little_more_memory_than_the_image(tmp_path):
    import tracemalloc

    Image.fromarray(np.full((1000, 1000), 40_000, np.uint16)).save(tmp_path / "deep.png")
    read_image(tmp_path / "deep.png", SMALL)  # imports are not counted
    tracemalloc.start()
    read_image(tmp_path / "deep.png", SMALL)
    assert tracemalloc.get_traced_memory()[1] < 8 * 1000 * 1000
    tracemalloc.stop()


def _bomb(path):
    """A few bytes whose header claims 1,600 megapixels."""
    import struct
    import zlib

    header = b"IHDR" + struct.pack(">IIBBBBB", 40000, 40000, 8, 2, 0, 0, 0)
    chunk = struct.pack(">I", 13) + header + struct.pack(">I", zlib.crc32(header))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk)


def _truncated(path):
    Image.fromarray(gradient(200, 200)).save(path.with_suffix(".jpg"))
    path.write_bytes(path.with_suffix(".jpg").read_bytes()[:2000])


REFUSED = {
    "bomb": _bomb,
    "truncated": _truncated,
    "empty": lambda path: path.touch(),
    "text": lambda path: path.write_text("hello"),
    "float": lambda path: Image.fromarray(np.ones((9, 9), np.float32)).save(path, format="TIFF"),
    "deeper": lambda path: Image.fromarray(np.full((9, 9), 1 << 20, np.int32)).save(path, format="TIFF"),
    "folder": lambda path: path.mkdir(),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_the_error_for_an_unusable_file_names_it(tmp_path, kind):
    path = tmp_path / f"{kind}.png"
    REFUSED[kind](path)
    with pytest.raises(InputError, match=rf"{kind}\.png"):
        read_image(path, SMALL)


def test_an_image_in_memory_is_framed_as_its_file(wanted):
    np.testing.assert_array_equal(frame_pixels(gradient(), SMALL), wanted)
    with pytest.raises(InputError, match="height × width × 3 bytes"):
        frame_pixels(gradient().astype(np.float32), SMALL)


EPS = "%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 40 40\n%%EndComments\n0 0 40 40 rectfill\nshowpage\n%%EOF\n"


@pytest.mark.parametrize("name", ["x.png", "x.jpg", "x.tif"])
def test_postscript_never_starts_ghostscript(tmp_path, monkeypatch, name):
    from PIL import EpsImagePlugin

    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", lambda *_: pytest.fail("Ghostscript was started"))
    monkeypatch.setattr("subprocess.Popen.__init__", lambda *_, **__: pytest.fail("a program was started"))
    (tmp_path / name).write_text(EPS)
    with pytest.raises(InputError, match=r"an image of a known format \(JPEG, PNG, "):
        read_image(tmp_path / name, SMALL)


@pytest.mark.parametrize("format_", ["ICO", "PCX", "TGA", "SGI", "PDF", "DDS"])
def test_formats_that_are_not_documented_are_refused(tmp_path, format_):
    Image.new("RGB", (40, 40), "red").save(tmp_path / "x.png", format=format_)
    with pytest.raises(InputError, match="known format"):
        read_image(tmp_path / "x.png", SMALL)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_all_documented_formats_are_read(tmp_path, suffix):
    found = saved(tmp_path, Image.new("RGB", (40, 40), "red"), f"x{suffix}")
    assert found[8, 8].tolist() == pytest.approx([255, 0, 0], abs=4)


def test_the_guide_lists_the_documented_formats():
    guide = (Path(__file__).parents[2] / "docs" / "guides" / "images.md").read_text(encoding="utf-8")
    assert all(f"`{suffix}`" in guide for suffix in SUFFIXES)


def test_pipes_sockets_devices_and_links_to_them_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.png")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket.png"))
    (tmp_path / "device.png").symlink_to("/dev/zero")
    (tmp_path / "folder.png").mkdir()
    for name in ("pipe", "socket", "device", "folder"):
        with pytest.raises(InputError, match=f"{name}.png is not a regular file"):
            read_image(tmp_path / f"{name}.png", SMALL)


@pytest.mark.skipif(not Path("/proc/version").is_file(), reason="needs /proc")
def test_a_link_into_proc_is_refused_unread(tmp_path):
    (tmp_path / "messages.png").symlink_to("/proc/version")
    with pytest.raises(InputError, match=r"messages\.png is empty"):
        read_image(tmp_path / "messages.png", SMALL)


def test_a_file_that_is_too_large_for_an_image_is_not_read(tmp_path):
    with open(tmp_path / "sparse.png", "wb") as file:
        file.truncate(10**12)
    with pytest.raises(InputError, match="more than 1000 megabytes"):
        read_image(tmp_path / "sparse.png", SMALL)
