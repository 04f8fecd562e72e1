import './node-version.js';

// In a checkout, Node strips the types. It refuses to do so under node_modules, so an installed package runs compiled code.
const entry = import.meta.url.includes('/node_modules/') ? './dist/plugin/engine/engine.js' : './engine.ts';
export default (await import(entry)).default;
