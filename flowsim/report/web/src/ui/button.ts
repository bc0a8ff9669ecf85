/** Elements of SVG that are buttons. */

/** What makes an element of SVG a button: such elements have ``tabindex`` in small letters. */
export function asButton(act: () => void) {
  return {
    role: "button" as const,
    tabindex: 0,
    onClick: act,
    onKeyDown: (event: KeyboardEvent) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      act();
    },
  };
}
