// Sets the chosen theme before the page is painted. Without a choice, the system's preference applies.
try {
  const theme = localStorage.getItem("theme");
  if (theme) document.documentElement.dataset.theme = theme;
} catch (e) { /* a browser without storage has the system's theme */ }
