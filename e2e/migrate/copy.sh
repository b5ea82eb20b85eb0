#!/bin/sh
# What fills a gateway's volume without Stoker: a checkout, and a script that copies what changed.
set -e
rm -rf /tmp/checkout
git clone --quiet --depth 1 --branch "$GITSYNC_REF" "$GITSYNC_REPO" /tmp/checkout
mkdir -p /data/projects /data/config/resources/local
cp -r /tmp/checkout/projects/. /data/projects
echo '{"written": "by the gateway"}' > /data/config/resources/local/own.json
echo '{"title": "by a person"}' > /data/by-hand.json
