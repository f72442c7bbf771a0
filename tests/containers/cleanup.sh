#!/bin/bash
# SPDX-License-Identifier: MIT
# Removes containers that a killed test left, and podman's mounts; keeps the images for the next run.
source "$(dirname "$0")/engine.sh"
[ ! -e "$state/ready" ] || podman rm -f -a -t 1 >/dev/null
unmount_below "$state"
