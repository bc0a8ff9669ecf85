import { defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

// The page is one file: flowsim embeds the data of a recording in it.
export default defineConfig({
  plugins: [viteSingleFile({ removeViteModuleLoader: true })],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: "built",
    emptyOutDir: true,
    target: "es2022",
    modulePreload: false,
    reportCompressedSize: false,
  },
});
