#!/usr/bin/env node
import './node-version.js';

// As in index.js: types are stripped in a checkout, and compiled in an installed package.
const entry = import.meta.url.includes('/node_modules/') ? './dist/plugin/cli/main.js' : '../cli/main.ts';
await import(entry);
