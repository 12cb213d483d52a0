// Ask the server, or send it something as JSON. An error's message is a sentence for the person at the page.
// `leaving` lets what is sent arrive although the page closes; browsers allow that for 64 kB.
async function send(path, body, leaving = false) {
  const options = body ? { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), keepalive: leaving } : {};
  let response;
  try { response = await fetch(path, options); } catch { throw new Error("The server does not answer. What you sent is not saved; try again in a moment."); }
  if (response.status === 403) throw new Error("This page is no longer open to you. Open your link again; everything saved is kept.");
  const content = await response.json();
  if (!response.ok) throw Object.assign(new Error(content.error), { status: response.status });
  return content;
}
