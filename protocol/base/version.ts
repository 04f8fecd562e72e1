/**
 * Version of the three npm packages, which are released together. `test/unit/protocol/version.test.ts` checks that all
 * files have this version.
 */
export const VERSION = '0.1.0';
