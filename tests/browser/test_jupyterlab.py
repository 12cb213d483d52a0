"""The inspector as an output of its notebook in JupyterLab."""

import sys
from pathlib import Path

import numpy as np
import pytest
from browser_pages import answers, server, shown, wait_for_frame

pytestmark = pytest.mark.browser
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


def test_the_notebook_shows_the_inspector_and_its_keys_stay_with_it(little, open_page, screenshot):
    command = [str(Path(sys.executable).with_name("jupyter")), "lab", "--ip=127.0.0.1", "--no-browser", "--allow-root"]
    command += ["--IdentityProvider.token=", "--LabApp.expose_app_in_browser=True", str(little.root / "notebooks")]
    with server(command, little.root, answers("/lab")) as address:
        page = open_page(f"{address}/lab/tree/inspect.ipynb", ".jp-Notebook .jp-Cell")
        page.evaluate(RUN_ALL)
        page.wait_for_selector("canvas.lookback-frame[data-frame='0']")
        cells = page.locator(".jp-Cell").count()
        page.click("[data-clip='memobench/synthetic/aldermoor/Playroom_001']")
        page.wait_for_selector("[data-clip='memobench/synthetic/aldermoor/Playroom_001'][aria-current]")
        page.keyboard.press("n")  # JupyterLab itself moves between cells and adds some with single letters
        page.wait_for_selector("[data-clip='memobench/synthetic/birkdale/Playroom_001'][aria-current]")
        page.keyboard.press("ArrowRight")
        wait_for_frame(page, 1)
        np.testing.assert_array_equal(shown(page), little.frame("memobench/synthetic/birkdale/Playroom_001", 1))
        assert page.locator(".jp-Cell").count() == cells
        assert page.locator(".deeplink").get_attribute("href").startswith("/voila/render/inspect.ipynb?run=little&clip=memobench")
        screenshot(page, "inspector_in_jupyterlab")
        page.close()
