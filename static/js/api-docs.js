// Swagger UI is dark where the browser's scheme is.
const scheme = window.matchMedia("(prefers-color-scheme: dark)");
const follow = () => document.documentElement.classList.toggle("dark-mode", scheme.matches);
scheme.addEventListener("change", follow);
follow();
