// Opens the guard's page in a browser, as people do, and writes down what comes of it.
//
//   node page.mjs FOLDER_OF_NODE_MODULES PORT_OF_THE_BROWSER ORDER     (the order is JSON)
//
//   url          the page
//   width, height, dark
//   token        typed into its form, if the form is there
//   until        an expression that must become true
//   read         {NAME: EXPRESSION}, evaluated then
//   screenshot   a file, of all of the page; only what fits on the screen if `of_screen`
//
// Prints one line of JSON: {errors: [what the console, the network or the page's policy says], urls: [asked for],
// violations: [what axe finds], overflow: how many pixels it is wider than the screen, read: {NAME: text}}.
import { readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';

const [, , modules, port, orderText] = process.argv;
const require = createRequire(`${modules}/package.json`);
const connect = require('chrome-remote-interface');
const order = JSON.parse(orderText);
const PATIENCE_MS = 45_000;  // the test has a minute for all of it

const browser = await connect({ port: Number(port), target: (targets) => targets[0] });
const { targetId } = await browser.Target.createTarget({ url: 'about:blank' });
const page = await connect({ port: Number(port), target: targetId });
const { Page, Runtime, Log, Network, Emulation } = page;

const errors = [];
const urls = [];
const loads = new Map();  // of requests that failed, by id

Runtime.exceptionThrown(({ exceptionDetails: details }) => errors.push(details.exception?.description ?? details.text));
Runtime.consoleAPICalled(({ type, args }) => {
  if (type === 'error' || type === 'warning' || type === 'assert') {
    errors.push(`${type}: ${args.map((one) => one.value ?? one.description).join(' ')}`);
  }
});
Log.entryAdded(({ entry }) => errors.push(`${entry.level}: ${entry.text} ${entry.url ?? ''}`));
Network.requestWillBeSent(({ request, requestId }) => {
  urls.push(request.url);
  loads.set(requestId, request.url);
});
Network.loadingFailed(({ requestId, errorText, canceled }) => {
  if (!canceled) {
    errors.push(`${loads.get(requestId)}: ${errorText}`);
  }
});

async function evaluate(expression) {
  const { result, exceptionDetails } = await Runtime.evaluate({ expression, awaitPromise: true, returnByValue: true });
  if (exceptionDetails) {
    throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
  }
  return result.value;
}

// Asked anew whenever something on the page changes.
function become(expression) {
  return evaluate(`new Promise((resolve, reject) => {
    const isTrue = () => { try { return Boolean(${expression}); } catch { return false; } };
    const end = () => { watch.disconnect(); resolve(true); };
    const watch = new MutationObserver(() => isTrue() && end());
    watch.observe(document, {subtree: true, childList: true, characterData: true, attributes: true});
    setTimeout(() => reject(new Error('it does not become so: ' + document.body.innerText)), ${PATIENCE_MS});
    if (isTrue()) end();
  })`);
}

async function violations() {
  await evaluate(readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8') + '; true');
  const found = await evaluate('axe.run(document, {resultTypes: ["violations"]})');
  return found.violations.flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.html.slice(0, 200)} ${node.failureSummary}`));
}

async function typeToken() {
  await become(`!document.getElementById('login').hidden`);
  await page.Input.insertText({ text: order.token });
  await page.Input.dispatchKeyEvent({ type: 'keyDown', key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 13, text: '\r' });
  await page.Input.dispatchKeyEvent({ type: 'keyUp', key: 'Enter', code: 'Enter', windowsVirtualKeyCode: 13 });
}

async function takeScreenshot() {
  const { cssContentSize: size } = await Page.getLayoutMetrics();
  const all = { x: 0, y: 0, width: order.width, height: Math.ceil(size.height), scale: 1 };
  const { data } = await Page.captureScreenshot({ format: 'png', ...(order.of_screen ? {} : { captureBeyondViewport: true, clip: all }) });
  writeFileSync(order.screenshot, Buffer.from(data, 'base64'));
}

try {
  await Promise.all([Page.enable(), Runtime.enable(), Log.enable(), Network.enable()]);
  await Emulation.setDeviceMetricsOverride({ width: order.width, height: order.height, deviceScaleFactor: order.scale ?? 1, mobile: order.width < 500 });
  await Emulation.setEmulatedMedia({ features: [{ name: 'prefers-color-scheme', value: order.dark ? 'dark' : 'light' }] });
  await Page.navigate({ url: order.url });
  await Page.loadEventFired();
  if (order.token !== undefined) {
    await typeToken();
  }
  await become(order.until);
  const read = {};
  for (const [name, expression] of Object.entries(order.read ?? {})) {
    read[name] = String(await evaluate(expression));
  }
  const overflow = await evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
  if (order.screenshot) {
    await takeScreenshot();
  }
  const report = { errors: [...errors], urls: [...new Set(urls)], violations: await violations(), overflow, read };
  console.log(JSON.stringify(report));
} finally {
  await browser.Target.closeTarget({ targetId });
  await page.close();
  await browser.close();
}
