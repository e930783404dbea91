"""What every page says about itself, and the glossary it links to: `docs/help` and `docs/glossary.md`.

| file | concern |
|---|---|
| `texts` | reads them, once |
| `tags` | the template tag by which `base.html` shows a page's help |

A page without help fails a test; so does a help text that names a term or a page that is not there.
"""
