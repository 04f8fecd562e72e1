#!/usr/bin/env node
import './node-version.js';

// See index.js: a checkout runs the TypeScript sources, an installed package runs compiled code.
const entry = import.meta.url.includes('/node_modules/') ? './dist/plugin/cli/main.js' : '../cli/main.ts';
await import(entry);
