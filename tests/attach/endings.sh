#!/bin/bash
# SPDX-License-Identifier: MIT
exit 1
