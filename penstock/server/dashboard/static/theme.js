// Before the first paint: the theme that was chosen here, if one was.
{
  let chosen = null;
  try { chosen = localStorage.getItem("penstock-theme"); } catch { /* none is kept here */ }
  if (chosen === "dark" || chosen === "light") document.documentElement.dataset.theme = chosen;
}
