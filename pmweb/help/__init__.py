"""What every page says about itself, the glossary it links to, and the walk through the example.

| file | concern |
|---|---|
| `text` | `Help`, and the small markup of its sentences |
| `house`, `measuring`, `mappings`, `anica` | the help of each page, by the name of its address |
| `pages` | all of them together |
| `terms` | the glossary |
| `tags` | the template tag by which `base.html` shows a page's help |

A page without help fails a test; so does a help text that names a term or a page that is not there.
"""
