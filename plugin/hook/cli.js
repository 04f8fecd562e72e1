#!/usr/bin/env node
// As in index.js: types are stripped in a checkout, and compiled in an installed package.
const entry = import.meta.url.includes('/node_modules/') ? './dist/plugin/cli/main.js' : '../cli/main.ts';
await import(entry);
