// Exchanges the link's secret, which stands behind the #, for a session (a cookie) and the token that orders need.
const link = location.hash.slice(1);
const said = document.getElementById("said");

async function enter() {
  history.replaceState(null, "", location.pathname);
  const answer = await fetch("/session", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ link }),
  });
  if (answer.ok) {
    // Other than a cookie, this belongs to this very port.
    localStorage.setItem("guard-token", (await answer.json()).token);
    location.replace("/");
    return;
  }
  const values = await answer.json().catch(() => ({}));
  said.textContent = values.error || "The server refused the link.";
  said.classList.add("bad");
}

if (link) {
  said.textContent = "One moment …";
  enter().catch(() => {
    said.textContent = "The server does not answer.";
  });
}
addEventListener("hashchange", () => location.reload());
