"""Files outside docs/ that belong to the site: figures under results/, CONTRIBUTING.md and CHANGELOG.md.

Pages link to them as on disk (`../results/...`), so that the links also work where the repository is browsed.
"""

import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
PAGES = ("CONTRIBUTING.md", "CHANGELOG.md")
PAGE = re.compile(r"\]\((?:\.\./)+(CONTRIBUTING|CHANGELOG)\.md")
FIGURE = re.compile(r"\]\((?:\.\./)+(results/[^)]+\.(?:svg|png))\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages at the root and every figure that a page shows."""
    figures = {name for file in files.documentation_pages() for name in FIGURE.findall(file.content_string)}
    for name in sorted(figures):
        files.append(File.generated(config, name, abs_src_path=str(ROOT / name)))
    for name in PAGES:
        text = (ROOT / name).read_text(encoding="utf-8")
        files.append(File.generated(config, name.lower(), content=text.replace("](docs/", "](")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Point links to figures and to the pages at the root at their copies on the site."""
    upwards = "../" * page.file.src_uri.count("/")
    markdown = PAGE.sub(lambda link: f"]({upwards}{link[1].lower()}.md", markdown)
    return FIGURE.sub(lambda link: f"]({upwards}{link[1]})", markdown)
