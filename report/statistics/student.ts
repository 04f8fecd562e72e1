/**
 * Quantiles of Student's t distribution. For whole degrees of freedom, the distribution function is a finite sum
 * (Abramowitz & Stegun 26.7.3 and 26.7.4), and bisection inverts it to the last digit. Libraries with this quantile
 * take hundreds of kilobytes.
 */

/**
 * Returns t such that |T| < t with probability `confidence`.
 * @param confidence 0 to 1, such as 0.95
 * @param degrees degrees of freedom, a whole number from 1
 */
export function studentT(confidence: number, degrees: number): number {
  const key = `${confidence} ${degrees}`;
  const found = quantiles.get(key) ?? quantile(confidence, degrees);
  if (quantiles.size >= MOST_KEPT) quantiles.clear();
  quantiles.set(key, found);
  return found;
}

/** Cache of quantiles. A study needs the same quantiles thousands of times. */
const quantiles = new Map<string, number>();
const MOST_KEPT = 1000;

function quantile(confidence: number, degrees: number): number {
  let high = 1;
  while (within(high, degrees) < confidence) high *= 2;
  let low = 0;
  for (let step = 0; step < 60; step++) {
    const middle = (low + high) / 2;
    if (within(middle, degrees) < confidence) low = middle;
    else high = middle;
  }
  return high;
}

/**
 * Returns the probability of |T| ≥ `t`.
 * @param degrees degrees of freedom, a whole number from 1
 */
export function studentP(t: number, degrees: number): number {
  return t === Number.POSITIVE_INFINITY ? 0 : Math.max(0, 1 - within(t, degrees));
}

/** Returns the probability of |T| < t. */
function within(t: number, degrees: number): number {
  const angle = Math.atan(t / Math.sqrt(degrees));
  const cosine = Math.cos(angle);
  const odd = degrees % 2 === 1;
  let term = odd ? cosine : 1;
  let sum = degrees === 1 ? 0 : term;
  for (let k = odd ? 3 : 2; k < degrees; k += 2) {
    term *= ((k - 1) / k) * cosine * cosine;
    sum += term;
  }
  return odd ? (2 / Math.PI) * (angle + Math.sin(angle) * sum) : Math.sin(angle) * sum;
}
