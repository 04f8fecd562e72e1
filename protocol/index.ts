export * from './clock/clock.ts';
export * from './errors.ts';
export * from './events.ts';
export * from './link.ts';
export * from './result/result.ts';
