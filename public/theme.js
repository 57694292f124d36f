// Applies the chosen theme before the first paint. Storage may be denied; then the system's choice stands.
try {
  const theme = localStorage.getItem("chainwalk.theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Denied: nothing to apply.
}
