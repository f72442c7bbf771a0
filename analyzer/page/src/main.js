// SPDX-License-Identifier: MIT
import { readProfile, readTree } from "./data.js";
const profile = readProfile(document.getElementById("meta").textContent);
document.getElementById("title").textContent = profile.title;
document.getElementById("trust").textContent = profile.trust;
