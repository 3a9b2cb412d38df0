"""Merge of the tables of others into `config/catalogue.json`.

`make catalogue` downloads the packages of three sources, reads their data and merges it.
"""
