"""The inspector as an output of its notebook in JupyterLab."""

import sys
from pathlib import Path

import numpy as np
import pytest
from browser_pages import PIXELS, answers, pixels, server

pytestmark = pytest.mark.long
RUN_ALL = """async () => {  // as a person does: once the page stands, the widget manager is there and the kernel has answered
  const lab = window.jupyterapp;
  await lab.restored;
  await lab.activatePlugin("@jupyter-widgets/jupyterlab-manager:plugin");
  const notebook = lab.shell.currentWidget;
  await notebook.context.ready;
  await notebook.sessionContext.ready;
  await notebook.sessionContext.session.kernel.info;
  lab.shell.activateById(notebook.id);
  void lab.commands.execute("notebook:run-all-cells");
}"""


def test_the_notebook_shows_the_inspector_and_its_keys_stay_with_it(little, warm_python, open_page, screenshot):
    command = [warm_python, str(Path(sys.executable).with_name("jupyter-lab")), "--ip=127.0.0.1", "--no-browser", "--allow-root"]
    command += ["--IdentityProvider.token=", "--LabApp.expose_app_in_browser=True", str(little.root / "notebooks")]
    with server(command, little.root, answers("/lab")) as address:
        page = open_page(f"{address}/lab/tree/inspect.ipynb", ".jp-Notebook .jp-Cell")
        page.evaluate(RUN_ALL)
        page.wait_for_selector("iframe[title='clip inspector']")
        cells = page.locator(".jp-Cell").count()
        inside = page.frame_locator("iframe[title='clip inspector']")
        inside.locator("[data-clip='memobench/synthetic/aldermoor/Playroom_001']").click()
        inside.locator("canvas.lookback-frame[data-slot='0'][data-exact='true']").wait_for()
        page.keyboard.press("n")  # JupyterLab itself moves between cells and adds some with single letters
        inside.locator("[data-clip='memobench/synthetic/birkdale/Playroom_001'][aria-current]").wait_for()
        inside.locator("canvas.lookback-frame[data-slot='0'][data-frame='0'][data-exact='true']").wait_for()
        page.keyboard.press("ArrowRight")
        canvas = inside.locator("canvas.lookback-frame[data-slot='0'][data-frame='1'][data-exact='true']")
        canvas.wait_for()
        np.testing.assert_array_equal(pixels(canvas.evaluate(PIXELS)), little.frame("memobench/synthetic/birkdale/Playroom_001", 1))
        assert page.locator(".jp-Cell").count() == cells
        screenshot(page, "inspector_in_jupyterlab")
        page.close()
