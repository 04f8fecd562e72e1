import { setFlagsFromString } from 'node:v8';
import './node-version.js';

// In a checkout, Node strips the types. It refuses to do so under node_modules, so an installed package runs compiled code.
const entry = import.meta.url.includes('/node_modules/') ? './dist/plugin/engine/engine.js' : './engine.ts';
export default (await import(entry)).default;
// Virtual users live long: for them, V8 would grow the young generation of this thread to 32 MB.
setFlagsFromString('--semi-space-growth-factor=1');
