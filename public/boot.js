// Starts the page: fetches the WebAssembly with progress, and says what failed if it fails.
// It is a file of its own because the content security policy allows no inline script.

const script = document.getElementById("boot-script");
const text = document.getElementById("boot-text");
const bar = document.getElementById("boot-progress");
const retry = document.getElementById("boot-retry");

document.getElementById("boot-again").addEventListener("click", () => location.reload());

function say(message) {
  if (text) text.textContent = message;
}

function fail(message, error) {
  console.error(message, error);
  say(message);
  if (bar) bar.hidden = true;
  if (retry) retry.hidden = false;
}

// Passes the bytes on to the compiler and counts them on the way.
function counted(response) {
  const total = Number(response.headers.get("content-length")) || 0;
  const packed = response.headers.get("content-encoding");
  if (!response.body || !total || packed) return response;
  let seen = 0;
  const counter = new TransformStream({
    transform(chunk, out) {
      seen += chunk.byteLength;
      if (bar) bar.value = Math.min(100, Math.round((seen / total) * 100));
      out.enqueue(chunk);
    },
  });
  return new Response(response.body.pipeThrough(counter), {
    headers: { "content-type": "application/wasm" },
  });
}

async function start() {
  if (typeof WebAssembly !== "object") {
    fail("This browser has no WebAssembly, which the engine needs. A current Firefox, Chrome, Edge or Safari has it.");
    return;
  }
  let response;
  try {
    response = await fetch(script.dataset.wasm);
    if (!response.ok) throw new Error(`${response.status} ${response.statusText}`);
  } catch (error) {
    fail(`The program could not be fetched (${error.message}). Check the connection, then try again.`, error);
    return;
  }
  try {
    const ui = await import(script.dataset.js);
    await ui.default({ module_or_path: counted(response) });
  } catch (error) {
    fail(`The program did not start (${error.message}). Reloading usually helps after an update.`, error);
  }
}

start();
