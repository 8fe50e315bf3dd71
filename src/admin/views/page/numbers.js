'use strict';
// Numbers as people read them, and what two totals (totals.h) of a counter's come to.

const NARROW = '\u202f';  // between a number and its unit
const UNKNOWN = '–';

function count(value) {
  return value < 9999.5 ? value.toLocaleString('en', {maximumFractionDigits: value < 9.95 ? 1 : 0})
                        : value.toLocaleString('en', {notation: 'compact', maximumSignificantDigits: 3});
}

// Never rounded to all or nothing.
function percent(share) {
  const value = share * 100;
  if (!Number.isFinite(value)) {
    return UNKNOWN;
  }
  if (value > 99 && value < 100) {
    return (Math.floor(value * 100) / 100).toFixed(2) + NARROW + '%';
  }
  const small = value > 0 && value < 1;
  return value.toLocaleString('en', small ? {maximumSignificantDigits: 2} : {maximumFractionDigits: 0}) + NARROW + '%';
}

// A reason or a remedy, which begin and end within a sentence.
function asSentence(text, isWhole) {
  const ended = /[.!?]$/.test(text) ? text : text + '.';
  return isWhole ? ended.charAt(0).toUpperCase() + ended.slice(1) : ended;
}

function duration(seconds) {
  if (!Number.isFinite(seconds)) {
    return UNKNOWN;
  }
  if (seconds === 0) {
    return '0' + NARROW + 's';
  }
  const steps = [[1e-3, 1e6, 'µs'], [1, 1e3, 'ms'], [120, 1, 's'], [7200, 1 / 60, 'min'], [172800, 1 / 3600, 'h'],
                 [Infinity, 1 / 86400, 'd']];
  const [, factor, unit] = steps.find(([below]) => seconds < below);
  const value = Math.max(0, seconds * factor);
  return value.toFixed(value > 0 && value < 9.95 && factor >= 1 ? 1 : 0) + NARROW + unit;
}

function bytes(value) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  const step = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, value)) / 10));
  const shown = value / 1024 ** step;
  return shown.toFixed(shown < 9.95 && step > 0 ? 1 : 0) + NARROW + units[step];
}

// Per second, of what each has counted between two totals.
function ratesBetween(before, after) {
  const seconds = after.at - before.at;
  const rate = (name) => Math.max(0, after[name] - before[name]) / seconds;  // a namespace may have gone
  return {absent: rate('absent'), passed: rate('passed'), unguarded: rate('unguarded')};
}

// Of the guarded look-ups; NaN without any.
function shareBetween(before, after) {
  const {absent, passed} = ratesBetween(before, after);
  return absent + passed > 0 ? absent / (absent + passed) : NaN;
}

// How long so many of the timed reads took at most, in seconds; between two bounds it is taken to grow evenly.
function quantileBetween(before, after, bounds, share) {
  const counts = after.reply_times.map((value, i) => value - before.reply_times[i]);
  let left = counts.reduce((sum, value) => sum + value, 0) * share;
  if (left <= 0) {
    return NaN;
  }
  const bucket = counts.findIndex((value) => (left -= value) <= 0);
  if (bucket < 0 || bucket >= bounds.length) {
    return bounds[bounds.length - 1];
  }
  const low = bucket === 0 ? 0 : bounds[bucket - 1];
  return low + (bounds[bucket] - low) * (1 + left / counts[bucket]);
}
