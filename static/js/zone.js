/* A browser without a chosen time zone reports its own, until it is closed, and loads the page again
   if that changes the times on it. */
{
  const script = document.currentScript;
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  document.cookie = `schedweb-zone=${encodeURIComponent(zone)}; path=/; samesite=lax`;
  const stored = document.cookie.includes("schedweb-zone=");
  if (stored && zone !== script.dataset.zone && sessionStorage.getItem("zone") !== zone) {
    /* once, in case the server does not know the zone */
    sessionStorage.setItem("zone", zone);
    location.reload();
  }
}
