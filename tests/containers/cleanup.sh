#!/bin/bash
# SPDX-License-Identifier: MIT
# Removes containers that a killed test left; keeps the images for the next run.
source "$(dirname "$0")/engine.sh"
[ -e "$state/ready" ] || exit 0
podman rm -f -a -t 1 >/dev/null
