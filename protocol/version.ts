/** Of the three packages, which are always released together; `test/unit/protocol/version.test.ts` compares it with them. */
export const VERSION = '0.1.0';
