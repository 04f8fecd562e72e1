/** Default theme of VitePress with additional styles for charts, contrast and the home page. */
import DefaultTheme from 'vitepress/theme';
import './charts.css';
import './contrast.css';
import './home.css';

export default DefaultTheme;
