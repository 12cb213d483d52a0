"""The renderer against geometry known by construction and an independent ray caster written here."""

import numpy as np
import pytest
from lookback.camera.intent import parse
from lookback.camera.poses import from_yaw_pitch_roll, inverse
from lookback.demo.clip import render_clip
from lookback.demo.geometry import Shape, ball, board, box, frustum, room, turn_z
from lookback.demo.light import Light
from lookback.demo.projection import intrinsics
from lookback.demo.raster import PlacedShape, Renderer
from lookback.demo.scenes import SCENES, load_scene
from lookback.demo.spec import ClipSpec
from lookback.demo.textures import Texture

WIDTH, HEIGHT, FOV = 160, 96, 60.0
PLAIN = Light((1.0, 1.0, 1.0), (0.0, 0.0, 0.0))
POSE = from_yaw_pitch_roll(17.0, -6.0, 3.0, (0.2, -1.2, -1.1))


def still_life():
    shapes = [
        *room((5.0, 2.8, 5.0), [Texture("brick")] * 4, Texture("wood"), Texture("plaster")),
        box((0.5, 0.8, 0.6), Texture("cardboard"), centre=(0.9, 0.0, 0.9)),
        ball(0.35, Texture("stripes"), (0.2, -0.9, 0.8)),
        frustum(0.12, 0.22, 0.6, Texture("glaze"), Texture("coffee"), (-0.35, -0.4, 0.7), turn_z(25)),
    ]
    return [PlacedShape(shape, number) for number, shape in enumerate(shapes, start=1)]


def rays(pose):
    """World directions with unit depth along the camera's axis, one per pixel centre."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    local = np.stack([x, y, np.ones_like(x)], axis=-1) @ np.linalg.inv(intrinsics(WIDTH, HEIGHT, FOV)).T
    return local @ pose[:3, :3].T


def cast_quads(shapes, pose):
    """Depth by solving origin + u U + v V = eye + z d for every pixel and quad (float64, no rasteriser)."""
    eye, directions = pose[:3, 3], rays(pose)
    depth, part = np.full((HEIGHT, WIDTH), np.inf), np.zeros((HEIGHT, WIDTH), int)
    for item in shapes:
        for quad in item.shape.quads:
            system = np.stack(np.broadcast_arrays(-quad.edge_u, -quad.edge_v, directions), axis=-1)
            with np.errstate(all="ignore"):
                u, v, z = np.moveaxis(
                    np.linalg.solve(system, (quad.origin - eye)[..., None] + np.zeros((HEIGHT, WIDTH, 3, 1)))[..., 0], -1, 0
                )
            faces = np.linalg.det(np.stack([quad.edge_u, quad.edge_v, quad.origin - eye])) > 0
            hit = faces & (u >= 0) & (u <= 1) & (v >= 0) & (v <= 1) & (z > 0.05) & (z < depth)
            depth[hit], part[hit] = z[hit], item.part
    return depth, part


def march_round(body, pose, near, far, steps=500):
    """Depth of a round body by marching along each ray with its implicit function (no closed form)."""
    z = np.linspace(near, far, steps)
    points = pose[:3, 3] + rays(pose)[:, :, None, :] * z[:, None]
    local = (points - body.position) @ body.rotation
    if body.height == 0:
        inside = (local**2).sum(axis=-1) < body.radius**2
    else:
        up = -local[..., 1]
        limit = body.radius + (body.radius_top - body.radius) * up / body.height
        inside = (up >= 0) & (up <= body.height) & (np.hypot(local[..., 0], local[..., 2]) < limit)
    return np.where(inside.any(axis=-1), z[np.argmax(inside, axis=-1)], np.inf)


def test_depth_and_parts_match_an_independent_ray_caster():
    items = still_life()
    picture = Renderer(WIDTH, HEIGHT, FOV).render(items, POSE, PLAIN)
    depth, part = cast_quads(items, POSE)
    for item in items:
        for body in item.shape.rounds:
            found = march_round(body, POSE, 0.5, 3.5)
            part[found < depth] = item.part
            depth = np.minimum(depth, found)
    same = picture.parts == part
    assert same.mean() > 0.985, "only pixels on an outline may differ"
    assert np.median(np.abs(picture.depth[same] / depth[same] - 1)) < 1e-5
    assert np.quantile(np.abs(picture.depth[same] / depth[same] - 1), 0.99) < 1e-2, "the march steps by 6 mm"


def test_a_picture_is_not_mirrored_and_not_upside_down():
    painted = board(2.0, 1.2, Texture("stripes").edit("crop", 0.0, 0.4, 0.34, 0.6), (0.0, 0.6, 2.0))
    picture = Renderer(WIDTH, HEIGHT, FOV).render([PlacedShape(painted, 1)], np.eye(4), PLAIN)
    left, right = picture.rgb[48, 50], picture.rgb[48, 110]
    assert left[0] > 180 and left[1] < 80, "the red gore is on the left"
    assert right[1] > 200, "the white gore is on the right"
    upright = board(2.0, 1.2, Texture("sky"), (0.0, 0.6, 2.0))
    picture = Renderer(WIDTH, HEIGHT, FOV).render([PlacedShape(upright, 1)], np.eye(4), PLAIN)
    assert picture.rgb[12, 80, 2] > picture.rgb[86, 80, 2], "the sky is above the hills"


def test_a_quad_is_not_seen_from_behind():
    quad = board(1.0, 1.0, Texture("brick"), (0.0, 0.5, 2.0))
    renderer = Renderer(WIDTH, HEIGHT, FOV)
    assert (renderer.render([PlacedShape(quad, 1)], np.eye(4), PLAIN).parts == 1).any()
    behind = from_yaw_pitch_roll(180.0, 0, 0, (0.0, 0.0, 4.0))
    assert not (renderer.render([PlacedShape(quad, 1)], behind, PLAIN).parts == 1).any()


def test_silhouette_area_counts_what_lies_outside_the_image():
    shape = ball(0.3, Texture("stripes"), (1.15, 0.0, 2.0))  # half beyond the right border
    renderer, wide = (
        Renderer(WIDTH, HEIGHT, FOV),
        Renderer(3 * WIDTH, HEIGHT, 2 * np.degrees(np.arctan(3 * np.tan(np.radians(FOV / 2))))),
    )
    assert wide.camera[0, 0] == pytest.approx(renderer.camera[0, 0]), "the wide picture has the same focal length"
    seen = (renderer.render([PlacedShape(shape, 1)], np.eye(4), PLAIN).parts == 1).sum()
    whole = (wide.render([PlacedShape(shape, 1)], np.eye(4), PLAIN).parts == 1).sum()
    assert 0.2 * whole < seen < 0.8 * whole
    assert renderer.silhouette_area(shape, np.eye(4)) == pytest.approx(whole, rel=0.03)


def test_a_known_point_lands_where_pose_and_depth_say():
    scene = load_scene("gallery")
    clip = render_clip(ClipSpec("gallery", parse("yaw:left:30+dolly:forward:0.5@6"), width=WIDTH, height=HEIGHT))
    hung = [thing for thing in scene.things if thing.name in ("rocket", "astronaut", "coins", "cameraman", "tissue")]
    checked = 0
    for frame, pose in enumerate(clip.c2w):
        for thing in hung:
            quad = thing.shape.quads[0]
            x, y, z = (inverse(pose) @ np.append(quad.origin + quad.edge_u / 2 + quad.edge_v / 2, 1.0))[:3]
            column, row = (clip.intrinsics @ [x / z, y / z, 1.0])[:2]
            if z < 0.1 or not (2 < column < WIDTH - 3 and 2 < row < HEIGHT - 3):
                continue
            if clip.part_names[clip.parts[frame, round(row), round(column)]] == thing.name:  # else something stands before it
                assert clip.depth[frame, round(row), round(column)] == pytest.approx(z, rel=2e-2)
                checked += 1
    assert checked > 8


@pytest.mark.parametrize("name", sorted(SCENES))
def test_pixels_warped_by_depth_meet_the_same_things_in_another_view(name):
    clip = render_clip(ClipSpec(name, parse("yaw:right:14+pan:right:0.15@5"), width=WIDTH, height=HEIGHT))
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    points = clip.depth[0][..., None] * (np.stack([x, y, np.ones_like(x)], -1) @ np.linalg.inv(clip.intrinsics).T)
    relative = inverse(clip.c2w[4]) @ clip.c2w[0]
    there = points @ relative[:3, :3].T + relative[:3, 3]
    image = there @ clip.intrinsics.T
    column, row = (np.rint(image[..., i] / image[..., 2]).astype(int) for i in (0, 1))
    inside = (column >= 0) & (column < WIDTH) & (row >= 0) & (row < HEIGHT) & (there[..., 2] > 0)
    found = clip.depth[4][row[inside], column[inside]]
    ratio = np.abs(found / there[..., 2][inside] - 1)
    assert inside.mean() > 0.5
    assert np.median(ratio) < 0.01, "half a pixel of rounding is all that is left"
    same = clip.parts[4][row[inside], column[inside]] == clip.parts[0][inside]
    assert same.mean() > 0.9
    colour = np.abs(clip.frames[4][row[inside], column[inside]].astype(int) - clip.frames[0][inside]).mean()
    assert colour < 25, "the same surfaces have the same colours"


def test_intrinsics_put_the_principal_point_between_the_middle_pixels():
    camera = intrinsics(320, 192, 60.0)
    assert camera[0, 2] == 159.5 and camera[1, 2] == 95.5
    assert np.degrees(2 * np.arctan(160 / camera[0, 0])) == pytest.approx(60.0)


def test_nothing_to_draw_gives_an_empty_picture():
    picture = Renderer(64, 64, 60.0).render([PlacedShape(Shape(), 1)], np.eye(4), PLAIN)
    assert not picture.parts.any() and not picture.rgb.any()
