"""`metaindex serve ROOT|TABLE|CATALOG...` or `--before URI`: an Iceberg REST catalog that plans with the indexes."""

from __future__ import annotations

import argparse
import logging
import signal
from contextlib import suppress

from metaindex.cli.output import Output
from metaindex.core import ArgumentError, Config

from . import arguments as arg


def _run(args: argparse.Namespace, out: Output) -> int:
    from metaindex.serve import open_server, token_in

    if not args.places and args.before is None:
        raise arg.NotUnderstood(
            "what is served is named: ROOT|TABLE|CATALOG..., or --before URI; read metaindex serve --help"
        )
    if args.verbose:
        logging.getLogger("metaindex").setLevel(logging.INFO)
    if (args.tls_cert is None) != (args.tls_key is None):
        raise ArgumentError("TLS needs a certificate and its key; one of them was given; give --tls-cert and --tls-key")
    server = open_server(
        *args.places,
        catalog=dict(args.catalog_option) or None,
        host=args.host,
        port=args.port,
        token=None if args.token_file is None else token_in(args.token_file),
        tls=None if args.tls_cert is None else (args.tls_cert, args.tls_key),
        config=Config(index_location=args.index_location, namespace=args.namespace, confine_to=tuple(args.confine_to)),
        storage_options=dict(args.storage_option),
        cache=args.cache,
        trust_clients=args.trust_clients,
        before=args.before,
        plan_all=args.plan_all,
        allow_locations=args.allow_location,
    )
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with server, suppress(KeyboardInterrupt):
            out.data({"uri": server.uri})
            out.say(f"metaindex: serving at {server.uri}; Ctrl-C ends it")
            server.wait()
    finally:
        signal.signal(signal.SIGTERM, before)
    return arg.DONE


COMMAND = arg.Command(
    "serve",
    "tables as an Iceberg REST catalog that plans with the indexes, until stopped",
    """Serves the tables below folders, or tables, as a read-only Iceberg REST catalog. Spark, pyiceberg and Polars need
its address alone: they send the filter of a query, and read only the files that come back. A root is named by its last
folder: below lake/ the table lake/sales/orders is lake.sales.orders. Nothing is kept, so any number of servers may
serve the same tables. A client that was not tried plans by itself, without the indexes. catalog:NAME is a catalog as
pyiceberg is configured for it (SQL, Glue, Hive), whose Iceberg tables are read with the rights of this server.

With --before it stands before an Iceberg REST catalog: all is forwarded under the caller's own credentials, but for
plans of tables, which are made with the indexes. A table is read with the credentials that the catalog gives the caller
for it, or with this server's own below the prefixes of --allow-location.

An index that is behind, slow or damaged only makes a plan name more files. Without a token it listens on this machine
alone. Credentials of clients are neither asked for nor logged: clients read the files with their own.""",
    (
        "metaindex serve lake/",
        "metaindex serve lake/ s3://lake/gold --port 8181",
        "metaindex serve catalog:prod",
        "metaindex serve --before https://catalog.example.com/api --plan-all --allow-location s3://lake/",
        "metaindex serve lake/ --host 0.0.0.0 --token-file token --tls-cert cert.pem --tls-key key.pem",
    ),
    (
        arg.word(
            "ROOT|TABLE|CATALOG", "folders or URIs with tables below them, tables, or catalog:NAME", "places", nargs="*"
        ),
        arg.group(
            "a catalog behind",
            arg.CATALOG_OPTION,
            arg.option("--before", "URI", "the Iceberg REST catalog to stand before, in place of folders and tables"),
            arg.flag("--plan-all", "plan for pyiceberg and Polars, too; what cannot be planned is refused to them"),
            arg.many("--allow-location", "PREFIX", "read tables below it with the credentials of this server"),
        ),
        arg.group(
            "who may ask",
            arg.option("--host", "ADDRESS", "where it listens; default: this machine alone", default="127.0.0.1"),
            arg.option("--port", "N", "default: 8181; 0 is a free one", type=arg.port, default=8181),
            arg.option("--token-file", "FILE", "the token that each request must bear; else METAINDEX_SERVE_TOKEN"),
            arg.option("--tls-cert", "FILE", "certificate of this server"),
            arg.option("--tls-key", "FILE", "its key"),
            arg.flag("--trust-clients", "make plans for clients that were not tried, too"),
        ),
        arg.flag("--verbose", "a line on stderr for each plan: which table and snapshot, files, indexes, time"),
        arg.group(
            "opening the tables",
            arg.option("--cache", "FOLDER", "clients read deletion vectors of Delta there (pyiceberg, Polars)"),
            arg.STORAGE,
            arg.LOCATION,
            arg.NAMESPACE,
            arg.CONFINE_TO,
        ),
    ),
    _run,
)
