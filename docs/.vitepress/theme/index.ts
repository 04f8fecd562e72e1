/** VitePress's own theme, with what charts and all readers need. */
import DefaultTheme from 'vitepress/theme';
import './charts.css';
import './contrast.css';
import './home.css';

export default DefaultTheme;
